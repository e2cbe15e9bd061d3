// Graphs of ONNX files: their results, inferred sizes, and errors.
#include <cmath>

#include <heed/onnx.hpp>

#include "harness/setup.hpp"
#include "hostile/hostile.hpp"
#include "onnx/imported.hpp"
#include "onnx/importer.hpp"

using namespace heed;
using namespace heed::test;

namespace {

Plan plan_of(Imported& file) {
  INFO(file.messages.text);
  REQUIRE(file.status == Status::Ok);
  Device device = open_cpu();
  Weights weights;
  REQUIRE(file.model.upload(device, file.graph, file.messages.log(), &weights) == Status::Ok);
  return compiled(device, file.graph, weights);
}

// Splits x [batch, seq, 4] into heads by shapes that the file computes, and joins them again, times a weight, as exporters write attention.
Proto heads_model() {
  Proto graph;
  graph.message(11, value_proto("x", ElementType::F32, {"batch", "seq", "4"}))
      .message(12, value_proto("y", ElementType::F32, {"batch", "seq", "2"}));
  graph.message(5, floats_proto("w", {4, 2}, {1, 2, 3, 4, 5, 6, 7, 8}))
      .message(5, floats_proto("b", {2}, {0.5f, -0.5f}));
  graph.message(5, integers_proto("zero", {}, {0}))
      .message(5, integers_proto("one", {}, {1}))
      .message(5, integers_proto("heads", {2}, {2, 2}));
  graph.message(5, integers_proto("axis", {1}, {0})).message(5, integers_proto("width", {1}, {4}));
  graph.message(1, node_proto("shape", "Shape", {"x"}, {"s"}));
  graph.message(1, node_proto("batch", "Gather", {"s", "zero"}, {"sb"}))
      .message(1, node_proto("seq", "Gather", {"s", "one"}, {"ss"}));
  graph.message(1, node_proto("u0", "Unsqueeze", {"sb", "axis"}, {"ub"}))
      .message(1, node_proto("u1", "Unsqueeze", {"ss", "axis"}, {"us"}));
  graph.message(1, with(node_proto("join", "Concat", {"ub", "us", "heads"}, {"cut"}), "axis", 0));
  graph.message(1, with(node_proto("back", "Concat", {"ub", "us", "width"}, {"whole"}), "axis", 0));
  graph.message(1, node_proto("split", "Reshape", {"x", "cut"}, {"xh"}));
  graph.message(1, with(node_proto("turn", "Transpose", {"xh"}, {"xt"}), "perm", {0, 2, 1, 3}));
  graph.message(1, node_proto("relu", "Relu", {"xt"}, {"xr"}));
  graph.message(1, with(node_proto("turn back", "Transpose", {"xr"}, {"xb"}), "perm", {0, 2, 1, 3}));
  graph.message(1, node_proto("merge", "Reshape", {"xb", "whole"}, {"xm"}));
  graph.message(1, node_proto("product", "MatMul", {"xm", "w"}, {"p"}))
      .message(1, node_proto("sum", "Add", {"p", "b"}, {"y"}));
  return model_proto(graph);
}

}  // namespace

TEST_CASE("onnx: shapes that a file computes run nowhere, at any size", "[onnx]") {
  const auto file = imported(heads_model(), {.largest = 9});
  Plan plan = plan_of(*file);
  for (const PassInfo& pass : plan.passes()) CHECK((pass.op == "matmul" || pass.op == "elementwise"));
  for (const auto& [batch, seq] : {std::pair<int64_t, int64_t>{1, 1}, {3, 9}, {2, 5}}) {
    const std::vector<float> x = pattern(static_cast<size_t>(batch * seq * 4), 5);
    std::vector<float> y(static_cast<size_t>(batch * seq * 2));
    const int64_t dims[] = {batch, seq, 4};
    const OnnxShape shapes[] = {{"x", dims}};
    std::vector<ExtentValue> extents;
    REQUIRE(file->model.find_extents(file->graph, shapes, file->messages.log(), &extents) == Status::Ok);
    const HostBuffer buffers[] = {{"x", x}, {"y", y}};
    REQUIRE(plan.run(buffers, extents) == Status::Ok);
    for (size_t row = 0; row < y.size() / 2; ++row)
      for (size_t n = 0; n < 2; ++n) {
        double sum = n == 0 ? 0.5 : -0.5;
        for (size_t k = 0; k < 4; ++k)
          sum += std::max(0.0, static_cast<double>(x[row * 4 + k])) * static_cast<double>(2 * k + n + 1);
        CHECK(std::abs(static_cast<double>(y[row * 2 + n]) - sum) < 1e-5);
      }
  }
}

TEST_CASE("onnx: a file tells of its inputs, outputs, operators and weights", "[onnx]") {
  const auto file = imported(heads_model(), {.largest = 9});
  REQUIRE(file->status == Status::Ok);
  REQUIRE(file->model.inputs().size() == 1);
  const OnnxTensor& x = file->model.inputs()[0];
  CHECK((x.name == "x" && x.dtype == DType::F32 && x.dims.size() == 3));
  CHECK((x.dims[1].symbol == "seq" && x.dims[2].symbol.empty() && x.dims[2].size == 4));
  CHECK(file->model.outputs()[0].name == "y");
  const auto operators = file->model.operators();
  CHECK(std::find(operators.begin(), operators.end(), std::pair<std::string, int64_t>("Transpose", 2)) !=
        operators.end());
  const std::vector<WeightInfo> weights = file->graph.weights();
  REQUIRE(weights.size() == 2);
  CHECK((weights[0].name == "w" && weights[1].name == "b"));
}

namespace {

// Queries, keys and values of x as heads, with variations that prevent fusion.
struct Heads {
  bool has_bias = true, last_has_bias = true, shares_weight = false, gives_product = false, reshapes = true,
       scales = false;
};
constexpr int64_t kColumns[] = {4, 4, 2};
constexpr const char *kNames[] = {"q", "k", "v"}, *kScaled[] = {"sq", "sk", "sv"}, *kBiased[] = {"bq", "bk", "bv"};

Proto products_model(const Heads& heads) {
  Proto graph;
  graph.message(11, value_proto("x", ElementType::F32, {"batch", "seq", "3"}));
  graph.message(5, integers_proto("shape", {4}, {0, 0, 2, -1})).message(5, floats_proto("half", {}, {0.5f}));
  for (size_t i = 0; i < 3; ++i) {
    const std::string name = kNames[i], weight = heads.shares_weight && i == 1 ? "wq" : "w" + name,
                      bias = "b of " + name;
    if (weight == "w" + name)
      graph.message(5, floats_proto(weight, {3, kColumns[i]},
                                    pattern(static_cast<size_t>(3 * kColumns[i]), static_cast<uint32_t>(i))));
    graph.message(
        5, floats_proto(bias, {kColumns[i]}, pattern(static_cast<size_t>(kColumns[i]), static_cast<uint32_t>(i + 3))));
    const bool has_bias = heads.has_bias && (i < 2 || heads.last_has_bias), scales = heads.scales && i == 0;
    std::string made = "p" + name;
    graph.message(1, node_proto(name + "_proj", "MatMul", {"x", weight}, {made}));
    if (heads.gives_product && i == 0) graph.message(12, value_proto(made, ElementType::F32, {"b", "s", "4"}));
    if (has_bias)
      graph.message(1,
                    node_proto("bias of " + name, "Add", {i == 1 ? bias : made, i == 1 ? made : bias}, {kBiased[i]}));
    if (has_bias) made = kBiased[i];
    if (scales) graph.message(1, node_proto("scale", "Mul", {made, "half"}, {kScaled[i]}));
    if (scales) made = kScaled[i];
    graph.message(1, heads.reshapes ? node_proto("cut " + name, "Reshape", {made, "shape"}, {name})
                                    : node_proto("bend " + name, "Relu", {made}, {name}));
    if (heads.reshapes)
      graph.message(12, value_proto(name, ElementType::F32, {"b", "s", "2", "d"}));
    else
      graph.message(12, value_proto(name, ElementType::F32, {"b", "s", "n"}));
  }
  return model_proto(graph);
}

}  // namespace

TEST_CASE("onnx: queries, keys and values of one input are one product", "[onnx]") {
  struct Case {
    Heads heads;
    size_t products;
  };
  constexpr Case kCases[] = {
      {{}, 1},
      {{.has_bias = false}, 1},
      {{.scales = true}, 1},
      {{.last_has_bias = false}, 1},
      {{.shares_weight = true}, 3},
      {{.gives_product = true}, 2},
      {{.reshapes = false}, 3},
  };
  for (const Case& c : kCases) {
    INFO("case " << (&c - kCases));
    const auto& [heads, products] = c;
    const auto file = imported(products_model(heads), {.largest = 5});
    Plan plan = plan_of(*file);
    size_t found = 0;
    for (const PassInfo& pass : plan.passes()) found += pass.op == "matmul" ? 1 : 0;
    CHECK(found == products);
    const std::vector<WeightInfo> weights = file->graph.weights();
    const auto joined =
        std::count_if(weights.begin(), weights.end(), [](const WeightInfo& w) { return w.name == "wq+wk+wv"; });
    CHECK(joined == (products == 1 ? 1 : 0));
    constexpr size_t kRows = 2 * 3;
    const std::vector<float> x = pattern(kRows * 3, 9);
    std::vector<std::vector<float>> made;
    std::vector<float> before(kRows * 4);
    std::vector<HostBuffer> buffers = {{"x", x}};
    for (const int64_t columns : kColumns) made.emplace_back(kRows * static_cast<size_t>(columns));
    for (size_t i = 0; i < 3; ++i) buffers.emplace_back(kNames[i], made[i]);
    if (heads.gives_product) buffers.emplace_back("pq", before);
    const ExtentValue extents[] = {{"batch", 2}, {"seq", 3}};
    REQUIRE(plan.run(buffers, extents) == Status::Ok);
    for (size_t i = 0; i < 3; ++i) {
      const auto columns = static_cast<size_t>(kColumns[i]);
      const std::vector<float> w = pattern(3 * columns, static_cast<uint32_t>(heads.shares_weight && i == 1 ? 0 : i)),
                               b = pattern(columns, static_cast<uint32_t>(i + 3));
      std::vector<float> want(kRows * columns);
      for (size_t at = 0; at < want.size(); ++at) {
        const size_t row = at / columns, column = at % columns;
        double sum = heads.has_bias && (i < 2 || heads.last_has_bias) ? static_cast<double>(b[column]) : 0.0;
        for (size_t k = 0; k < 3; ++k)
          sum += static_cast<double>(x[row * 3 + k]) * static_cast<double>(w[k * columns + column]);
        if (heads.scales && i == 0) sum *= 0.5;
        want[at] = static_cast<float>(heads.reshapes ? sum : std::max(sum, 0.0));
      }
      CHECK(difference(made[i].data(), want).empty());
    }
  }
}

TEST_CASE("onnx: two names of one size become one, and a sum of sizes is known", "[onnx]") {
  Proto graph;
  graph.message(11, value_proto("past", ElementType::F32, {"batch", "before"}))
      .message(11, value_proto("x", ElementType::F32, {"batch_1", "fresh"}));
  graph.message(11, value_proto("mask", ElementType::F32, {"batch_2", "all"}))
      .message(12, value_proto("y", ElementType::F32, {"b", "n"}));
  graph.message(1, with(node_proto("join", "Concat", {"past", "x"}, {"xs"}), "axis", 1))
      .message(1, node_proto("mask them", "Mul", {"xs", "mask"}, {"y"}));
  const OnnxExtent largest[] = {{"before", 6}, {"fresh", 3}};
  const auto file = imported(model_proto(graph), {.extents = largest, .largest = 4});
  Plan plan = plan_of(*file);
  const std::vector<float> past = pattern(10, 1), x = pattern(4, 2), mask = pattern(14, 3);
  std::vector<float> y(14);
  const int64_t of_past[] = {2, 5}, of_x[] = {2, 2}, of_mask[] = {2, 7}, too_long[] = {2, 8};
  const OnnxShape shapes[] = {{"past", of_past}, {"x", of_x}, {"mask", of_mask}};
  std::vector<ExtentValue> extents;
  REQUIRE(file->model.find_extents(file->graph, shapes, file->messages.log(), &extents) == Status::Ok);
  CHECK(extents.size() == 3);
  const HostBuffer buffers[] = {{"past", past}, {"x", x}, {"mask", mask}, {"y", y}};
  REQUIRE(plan.run(buffers, extents) == Status::Ok);
  for (size_t i = 0; i < 14; ++i) {
    const size_t row = i / 7, at = i % 7;
    CHECK(y[i] == (at < 5 ? past[row * 5 + at] : x[row * 2 + at - 5]) * mask[i]);
  }
  const OnnxShape wrong[] = {{"past", of_past}, {"x", of_x}, {"mask", too_long}};
  file->messages.refused(file->model.find_extents(file->graph, wrong, file->messages.log(), &extents),
                         Status::ShapeMismatch, "dim 1 of input 'mask' is 8; it must be 7");
  file->messages.refused(
      file->model.find_extents(file->graph, std::span(shapes).first(2), file->messages.log(), &extents),
      Status::ShapeMismatch, "'mask' is missing");
  // A separate graph for an empty cache.
  const OnnxExtent none[] = {{"before", 0}};
  const auto first = imported(model_proto(graph), {.extents = none, .largest = 4});
  Plan start = plan_of(*first);
  std::vector<float> made(4);
  const int64_t of_none[] = {2, 0}, of_short[] = {2, 2};
  const OnnxShape at_first[] = {{"past", of_none}, {"x", of_x}, {"mask", of_short}};
  REQUIRE(first->model.find_extents(first->graph, at_first, first->messages.log(), &extents) == Status::Ok);
  const std::vector<float> short_mask = pattern(4, 4);
  const HostBuffer first_buffers[] = {{"x", x}, {"mask", short_mask}, {"y", made}};
  REQUIRE(start.run(first_buffers, extents) == Status::Ok);
  for (size_t i = 0; i < 4; ++i) CHECK(made[i] == x[i] * short_mask[i]);
}

// x[:, c:] = 2 x[:, c:], as exporters write it: indices from two ranges, and ScatterND.
TEST_CASE("onnx: places that ranges make are a slice", "[onnx]") {
  Proto graph;
  graph.message(11, value_proto("x", ElementType::F32, {"a", "b"}))
      .message(11, value_proto("z", ElementType::F32, {"c"}));
  graph.message(12, value_proto("y", ElementType::F32, {"a", "b"}));
  graph.message(5, integers_proto("zero", {}, {0}))
      .message(5, integers_proto("one", {}, {1}))
      .message(5, integers_proto("end", {1}, {INT64_MAX}));
  graph.message(5, integers_proto("axis", {1}, {1})).message(5, floats_proto("two", {}, {2}));
  graph.message(1, node_proto("shape", "Shape", {"x"}, {"s"})).message(1, node_proto("c", "Shape", {"z"}, {"sc"}));
  graph.message(1, node_proto("a", "Gather", {"s", "zero"}, {"sa"}))
      .message(1, node_proto("b", "Gather", {"s", "one"}, {"sb"}));
  graph.message(1, node_proto("c scalar", "Squeeze", {"sc"}, {"c0"}));
  graph.message(1, node_proto("part", "Slice", {"x", "sc", "end", "axis"}, {"xc"}))
      .message(1, node_proto("double", "Mul", {"xc", "two"}, {"v"}));
  graph.message(1, node_proto("of v", "Shape", {"v"}, {"sv"}));
  graph.message(1, node_proto("rows", "Range", {"zero", "sa", "one"}, {"r"}))
      .message(1, node_proto("columns", "Range", {"c0", "sb", "one"}, {"k"}));
  graph.message(1, node_proto("r column", "Unsqueeze", {"r", "axis"}, {"r1"}))
      .message(1, node_proto("r all", "Expand", {"r1", "sv"}, {"r2"}));
  graph.message(1, node_proto("k all", "Expand", {"k", "sv"}, {"k2"}));
  graph.message(5, integers_proto("behind", {1}, {-1}));
  graph.message(1, node_proto("r place", "Unsqueeze", {"r2", "behind"}, {"r3"}))
      .message(1, node_proto("k place", "Unsqueeze", {"k2", "behind"}, {"k3"}));
  graph.message(1, with(node_proto("places", "Concat", {"r3", "k3"}, {"at"}), "axis", -1));
  graph.message(1, node_proto("assign", "ScatterND", {"x", "at", "v"}, {"y"}));
  const auto file = imported(model_proto(graph), {.largest = 9});
  Plan plan = plan_of(*file);
  const std::vector<float> x = pattern(3 * 7, 8);
  std::vector<float> y(x.size());
  REQUIRE(plan.run({{"x", x}, {"z", std::vector<float>(2)}, {"y", y}}, {{"a", 3}, {"b", 7}, {"c", 2}}) == Status::Ok);
  for (size_t i = 0; i < x.size(); ++i) CHECK(y[i] == (i % 7 < 2 ? x[i] : 2 * x[i]));
}

TEST_CASE("onnx: branches of constants and functions of the file are inlined", "[onnx]") {
  // y = If(true) { f(x; alpha = 3) } else { x }, where f(a; alpha) = LeakyRelu(a) with that alpha.
  Proto then_graph, else_graph, graph, function, model;
  Proto call =
      node_proto("call", "Bent", {"x"}, {"t"}).text(7, "local").message(5, attribute_proto("bend", 1).number(2, 3.0f));
  then_graph.message(1, call).message(12, value_proto("t", ElementType::F32, {"n"}));
  else_graph.message(1, node_proto("same", "Identity", {"x"}, {"e"}))
      .message(12, value_proto("e", ElementType::F32, {"n"}));
  graph.message(11, value_proto("x", ElementType::F32, {"n"})).message(12, value_proto("y", ElementType::F32, {"n"}));
  graph.message(5, tensor_proto("yes", ElementType::Bool, {}).text(9, std::string_view("\1", 1)));
  graph.message(1, node_proto("choose", "If", {"yes"}, {"y"})
                       .message(5, attribute_proto("then_branch", 5).message(6, then_graph))
                       .message(5, attribute_proto("else_branch", 5).message(6, else_graph)));
  Proto bent = node_proto("bend", "LeakyRelu", {"a"}, {"b"}).message(5, attribute_proto("alpha", 1).text(21, "bend"));
  function.text(1, "Bent")
      .texts(4, {"a"})
      .texts(5, {"b"})
      .text(6, "bend")
      .message(7, bent)
      .message(9, Proto().text(1, "").integer(2, 17))
      .text(10, "local");
  const auto file = imported(model_proto(graph).message(25, function), {.largest = 8});
  Plan plan = plan_of(*file);
  const std::vector<float> x = {-1, 2, -0.5f};
  std::vector<float> y(3);
  REQUIRE(plan.run({{"x", x}, {"y", y}}, {{"n", 3}}) == Status::Ok);
  CHECK(y == std::vector<float>{-3, 2, -1.5f});
}

TEST_CASE("onnx: a file is a part of a graph", "[onnx]") {
  const auto file = imported(heads_model(), {.largest = 9});
  Graph g;
  const Dim n = g.extent("n", 4);
  const Tensor x = g.input("x", {n, 5, 4});
  const OnnxInput inputs[] = {{"x", g.scale(x, 2.0f)}};
  std::vector<Tensor> outputs;
  REQUIRE(file->model.add(&g, inputs, {}, file->messages.log(), &outputs) == Status::Ok);
  REQUIRE(outputs.size() == 1);
  const Shape shape = g.shape(outputs[0]);
  CHECK((shape.rank == 3 && shape[0] == n && shape[1] == Dim(5) && shape[2] == Dim(2)));
  g.output("z", g.neg(outputs[0]));
  Device device = open_cpu();
  Weights weights;
  REQUIRE(file->model.upload(device, g, file->messages.log(), &weights) == Status::Ok);
  Plan plan = compiled(device, g, weights), plain = plan_of(*file);
  const std::vector<float> values = pattern(3 * 5 * 4, 7);
  std::vector<float> doubled, z(3 * 5 * 2), y(z.size());
  for (const float value : values) doubled.push_back(2 * value);
  REQUIRE(plan.run({{"x", values}, {"z", z}}, {{"n", 3}}) == Status::Ok);
  REQUIRE(plain.run({{"x", doubled}, {"y", y}}, {{"batch", 3}, {"seq", 5}}) == Status::Ok);
  for (float& value : y) value = -value;
  CHECK(difference(z.data(), y) == "");
  const OnnxInput narrow[] = {{"x", g.slice(x, 2, 0, 3)}};
  file->messages.refused(file->model.add(&g, narrow, {}, file->messages.log(), &outputs), Status::ShapeMismatch,
                         "the tensor for input 'x' is not of the shape");
  CHECK((g.status() == Status::Ok && outputs.size() == 1));
}

TEST_CASE("onnx: a mistake in a part of a graph is named without the caller's labels", "[onnx]") {
  Proto graph;
  graph.message(11, value_proto("x", ElementType::F32, {"n", "4"}))
      .message(11, value_proto("w", ElementType::F32, {"3", "2"}))
      .message(12, value_proto("y", ElementType::F32, {"n", "2"}))
      .message(1, node_proto("product", "MatMul", {"x", "w"}, {"y"}));
  const auto file = imported(model_proto(graph), {.largest = 8});
  file->messages.take();
  Graph g;
  g.push_label("policy");
  std::vector<Tensor> outputs;
  const Status status = file->model.add(&g, {}, {.largest = 8}, file->messages.log(), &outputs);
  CHECK(status != Status::Ok);
  CHECK_THAT(file->messages.text, holds("node 'product' (MatMul): "));
  CHECK_THAT(file->messages.text, !holds("policy"));
}

TEST_CASE("onnx: hyperbolic functions near 0 and far from it", "[onnx]") {
  struct Case {
    const char* op;
    double (*function)(double);
    double least, most;
  };
  constexpr Case kCases[] = {{"Sinh", std::sinh, -89, 89},
                             {"Cosh", std::cosh, -89, 89},
                             {"Asinh", std::asinh, -1e30, 1e30},
                             {"Acosh", std::acosh, 1, 1e30},
                             {"Atanh", std::atanh, -0.999, 0.999}};
  for (const Case& c : kCases) {
    INFO(c.op);
    Proto graph;
    graph.message(11, value_proto("x", ElementType::F32, {"n"})).message(12, value_proto("y", ElementType::F32, {"n"}));
    graph.message(1, node_proto("f", c.op, {"x"}, {"y"}));
    const auto file = imported(model_proto(graph), {.largest = 64});
    REQUIRE(file->status == Status::Ok);
    std::vector<float> x;
    for (const double size : {1e-6, 1e-4, 0.01, 0.12, 0.13, 0.5, 0.99, 1.0, 1.5, 8.0, 80.0, 88.8, 9e3, 1.1e4, 1e20})
      for (const double value : {size, -size})
        if (value >= c.least && value <= c.most) x.push_back(static_cast<float>(value));
    std::vector<float> y(x.size());
    REQUIRE(compiled(open_cpu(), file->graph).run({{"x", x}, {"y", y}}, {{"n", static_cast<int64_t>(x.size())}}) ==
            Status::Ok);
    for (size_t i = 0; i < x.size(); ++i) {
      const double want = c.function(static_cast<double>(x[i]));
      INFO(x[i] << ": " << y[i] << ", not " << want);
      CHECK(std::abs(static_cast<double>(y[i]) - want) <= 2e-5 * std::abs(want));
    }
  }
}

TEST_CASE("onnx: what cannot be imported is named with its node", "[onnx]") {
  const auto refuses = [](const char* what, const Proto& node, const OnnxOptions& options, Status status,
                          std::initializer_list<const char*> said) {
    Proto graph;
    graph.message(11, value_proto("x", ElementType::F32, {"n", "4"}))
        .message(11, value_proto("s", ElementType::I64, {"2"}))
        .message(12, value_proto("y", ElementType::F32, {"m"}));
    const auto file = imported(model_proto(graph.message(1, node)), options);
    INFO(what << ": " << file->messages.text);
    CHECK(file->status == status);
    CHECK(file->messages.count() == 1);
    for (const char* part : said) CHECK(file->messages.mention(part));
  };
  const OnnxOptions any = {.largest = 8};
  refuses("an operator that is not there", node_proto("a", "NonZero", {"x"}, {"y"}), any, Status::Unsupported,
          {"memory: node 'a' (NonZero)", "no operator NonZero"});
  refuses("a shape of data", node_proto("b", "Reshape", {"x", "s"}, {"y"}), any, Status::Unsupported,
          {"node 'b' (Reshape)", "'s'", "depends on data"});
  refuses("sizes that do not fit", with(node_proto("c", "Transpose", {"x"}, {"y"}), "perm", {0, 1, 2}), any,
          Status::Unsupported, {"node 'c' (Transpose)", "3 axes"});
  refuses("an axis that is none", with(node_proto("d", "Softmax", {"x"}, {"y"}), "axis", 2), any, Status::Unsupported,
          {"node 'd' (Softmax)", "axis 2"});
  refuses("an axis that is named twice", with(node_proto("f", "Transpose", {"x"}, {"y"}), "perm", {1, 1}), any,
          Status::Unsupported, {"node 'f' (Transpose)", "axis 1 is named twice"});
  refuses("a node without a name", node_proto("", "Loop", {"x"}, {"y"}), any, Status::Unsupported, {"node 'y' (Loop)"});
  refuses("a dim without a largest size", node_proto("e", "Relu", {"x"}, {"y"}), {}, Status::InvalidArgument,
          {"'n'", "input 'x'", "not given"});
}

TEST_CASE("onnx: numbers that do not fit their shape are refused", "[onnx]") {
  Proto graph;
  graph.message(12, value_proto("y", ElementType::I64, {"2", "2"}))
      .message(5, integers_proto("three", {3}, {1, 2, 3}))
      .message(5, integers_proto("shape", {2}, {2, 2}));
  graph.message(1, node_proto("a", "Reshape", {"three", "shape"}, {"y"}));
  const auto file = imported(model_proto(graph), {});
  CHECK(file->status == Status::Unsupported);
  CHECK(file->messages.mention("node 'a' (Reshape): 3 numbers for a shape of 4"));
}

TEST_CASE("onnx: operators of versions that nobody has tried are refused", "[onnx]") {
  Proto graph;
  graph.message(11, value_proto("x", ElementType::F32, {"2"}))
      .message(12, value_proto("y", ElementType::F32, {"2"}))
      .message(1, node_proto("a", "Relu", {"x"}, {"y"}));
  for (const int64_t opset : {6, 7, 28, 29}) {
    const Proto model = Proto().integer(1, 8).message(7, graph).message(8, Proto().text(1, "").integer(2, opset));
    const auto file = imported(model, {});
    CHECK((file->status == Status::Ok) == (opset == 7 || opset == 28));
    CHECK(file->messages.mention("7 to 28 are known") == (file->status != Status::Ok));
  }
}

TEST_CASE("onnx: each operator stands once in the table", "[onnx]") {
  const std::vector<onnx::Operator> all = onnx::operators();
  CHECK(all.size() >= 110);
  for (size_t i = 1; i < all.size(); ++i) CHECK(all[i - 1].name < all[i].name);
  for (const onnx::Operator& row : all) CHECK(onnx::find_operator(row.name)->import == row.import);
}

// Nodes of which most are folded when the graph is built, from constants of the file.
Proto known_model() {
  Proto graph;
  graph.message(11, value_proto("x", ElementType::F32, {"n", "6"}))
      .message(12, value_proto("y", ElementType::F32, {"n", "6"}));
  const auto list = [&](const char* name, const std::vector<int64_t>& values) {
    graph.message(5, integers_proto(name, {static_cast<int64_t>(values.size())}, values));
  };
  list("six", {2, 3}), list("all", {1, 2, 3, 4, 5, 6}), list("begin", {0, 1}), list("end", {2, 3}),
      list("axes", {0, 1}), list("steps", {1, 2}), list("front", {0}), list("pads", {1, 0, 0, 2});
  list("parts", {1, 2}), list("where", {0, 0, 1, 2}), list("pair", {2, 2}), list("line", {-1}), list("two", {7, 8});
  graph.message(5, integers_proto("0", {}, {0}))
      .message(5, integers_proto("4", {}, {4}))
      .message(5, integers_proto("1", {}, {1}))
      .message(5, floats_proto("kernel", {6, 1, 3}, std::vector<float>(18, 0.5f)));
  graph.message(1, node_proto("a", "Reshape", {"all", "six"}, {"a"}))
      .message(1, with(node_proto("b", "Transpose", {"a"}, {"b"}), "perm", {1, 0}));
  graph.message(1, node_proto("c", "Slice", {"a", "begin", "end", "axes", "steps"}, {"c"}))
      .message(1, node_proto("d", "Gather", {"b", "front"}, {"d"}));
  graph.message(1, with(node_proto("e", "Concat", {"d", "d"}, {"e"}), "axis", 0))
      .message(1, node_proto("f", "Expand", {"front", "six"}, {"f"}));
  graph.message(1, node_proto("g", "Range", {"0", "4", "1"}, {"g"}))
      .message(1, node_proto("h", "ConstantOfShape", {"six"}, {"h"}));
  graph.message(1, node_proto("i", "Reshape", {"where", "pair"}, {"i0"}))
      .message(1, node_proto("j", "ScatterND", {"a", "i0", "two"}, {"j"}));
  graph.message(1, with(node_proto("k", "Split", {"all", "parts"}, {"k0", "k1"}), "axis", 0))
      .message(1, node_proto("l", "Where", {"a", "a", "f"}, {"l"}));
  graph.message(1, node_proto("m", "Div", {"a", "l"}, {"m"}))
      .message(1, node_proto("n", "Trilu", {"a"}, {"n0"}))
      .message(1, node_proto("o", "Tile", {"x", "pair"}, {"o"}));
  graph.message(1, node_proto("p", "Pad", {"x", "pads"}, {"p"}))
      .message(1, node_proto("q", "Unsqueeze", {"x", "front"}, {"q0"}));
  graph.message(1, with(with(with(node_proto("r", "MaxPool", {"q0"}, {"r"}), "kernel_shape", std::vector<int64_t>{3}),
                             "strides", std::vector<int64_t>{2}),
                        "ceil_mode", 1));
  graph.message(1, with(node_proto("s", "OneHot", {"g", "4", "axes"}, {"s"}), "axis", -1))
      .message(1, with(node_proto("t", "CumSum", {"x", "1"}, {"t"}), "reverse", 1));
  graph.message(1, with(node_proto("u", "Softmax", {"x"}, {"u"}), "axis", -1))
      .message(1, node_proto("v", "Reshape", {"u", "line"}, {"v"}))
      .message(1, node_proto("w", "Identity", {"u"}, {"y"}));
  return model_proto(graph);
}

TEST_CASE("onnx: numbers of the file are computed when the graph is built", "[onnx]") {
  const auto file = imported(known_model(), {.largest = 9});
  INFO(file->messages.text);
  CHECK(file->status == Status::Ok);
}

TEST_CASE("hostile: changed ONNX models become graphs, or are refused", "[hostile][onnx]") {
  const std::string models[] = {heads_model().bytes(), known_model().bytes()};
  int64_t taken = 0;
  const int64_t cases = hostile_cases("graphs of ONNX models", 6000,
                                      [&](ops::Random& r) { taken += builds_changed(models[r.coin()], r, false); });
  tell_sound(taken, cases);
}

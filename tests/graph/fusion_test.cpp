#include <cmath>

#include "harness/catch.hpp"

#include "support.hpp"

using namespace heed;
using namespace heed::test;

namespace {

struct Layer {
  Graph g;
  Tensor x = g.input("x", {2, 5, 8});
  Tensor w = g.weight("w", {8, 8}), b = g.weight("b", {8});
};

}  // namespace

TEST_CASE("fusion: bias, activation, dropout and residual go into the matmul", "[graph]") {
  Layer l;
  Tensor y = l.g.linear(l.x, l.w, l.b);
  y = l.g.activation(y, Activation::GeluErf);
  y = l.g.dropout(y, 0.25f);
  y = l.g.add(l.x, y);
  l.g.output("y", y);
  const Scheduled s = schedule_of(l.g, {.asked = {.training = true}});
  REQUIRE(s.status == Status::Ok);
  REQUIRE(ops_of(s.schedule) == std::vector<Op>{Op::Matmul});
  const Node& node = s.schedule.passes[0];
  CHECK(node.inputs[in::kBias] == l.b);
  CHECK(node.inputs[in::kResidual] == l.x);
  CHECK(node.as<MatmulAttrs>().activation == Activation::GeluErf);
  CHECK(node.as<MatmulAttrs>().dropout.p == 0.25f);
  CHECK(s.schedule.scratch_bytes == 0);
  CHECK_THAT(node.label, !holds("linear"));  // the matmul's own call
}

TEST_CASE("fusion: keeps the order of operations", "[graph]") {
  SECTION("an activation after the residual is not the epilogue's activation") {
    Layer l;
    l.g.output("y", l.g.activation(l.g.add(l.g.linear(l.x, l.w, l.b), l.x), Activation::Relu));
    const Scheduled s = schedule_of(l.g);
    REQUIRE(ops_of(s.schedule) == std::vector<Op>{Op::Matmul, Op::Elementwise});
    CHECK(s.schedule.passes[0].inputs[in::kResidual].valid());
    CHECK(s.schedule.passes[0].as<MatmulAttrs>().activation == Activation::None);
  }
  SECTION("a bias after the activation stays apart") {
    Layer l;
    l.g.output("y", l.g.add(l.g.activation(l.g.linear(l.x, l.w), Activation::Relu), l.b));
    CHECK(ops_of(schedule_of(l.g).schedule) == std::vector<Op>{Op::Matmul, Op::Elementwise});
  }
  SECTION("a product that somebody else reads is stored") {
    Layer l;
    const Tensor y = l.g.linear(l.x, l.w);
    l.g.output("y", y);
    l.g.output("z", l.g.add(y, l.b));
    CHECK(ops_of(schedule_of(l.g).schedule) == std::vector<Op>{Op::Matmul, Op::Elementwise});
  }
  SECTION("a product added to itself is no residual") {
    Layer l;
    const Tensor y = l.g.linear(l.x, l.w);
    l.g.output("z", l.g.add(y, y));
    CHECK(ops_of(schedule_of(l.g).schedule) == std::vector<Op>{Op::Matmul, Op::Elementwise});
  }
  SECTION("a scale after the bias stays apart") {
    Layer l;
    l.g.output("z", l.g.scale(l.g.linear(l.x, l.w, l.b), 2));
    CHECK(ops_of(schedule_of(l.g).schedule) == std::vector<Op>{Op::Matmul, Op::Elementwise});
  }
  SECTION("two products: the residual is the other's result") {
    Layer l;
    const Tensor one = l.g.linear(l.x, l.w, l.b), two = l.g.linear(l.x, l.g.weight("w2", {8, 8}));
    l.g.output("z", l.g.add(one, two));
    const Scheduled s = schedule_of(l.g);
    REQUIRE(ops_of(s.schedule) == std::vector<Op>{Op::Matmul, Op::Matmul});
    CHECK(s.schedule.passes[1].inputs[in::kResidual] == s.schedule.passes[0].outputs[0]);
  }
}

TEST_CASE("fusion: activations that are spelled out go into the matmul", "[graph]") {
  using Formula = Tensor (*)(Graph&, Tensor);
  const auto activation_of = [](Formula formula, bool reproducible = false) {
    Layer l;
    l.g.output("y", formula(l.g, l.g.linear(l.x, l.w, l.b)));
    const Scheduled s = schedule_of(l.g, {.asked = {.reproducible = reproducible}});
    REQUIRE(s.status == Status::Ok);
    return s.schedule.passes.size() == 1 ? s.schedule.passes[0].as<MatmulAttrs>().activation : Activation::None;
  };
  const Formula by_erf = [](Graph& g, Tensor x) {
    return g.scale(g.mul(x, g.add(g.erf(g.div(x, g.number(std::sqrt(2.0)))), g.number(1.0))), 0.5f);
  };
  const Formula half_first = [](Graph& g, Tensor x) {
    return g.mul(g.scale(x, 0.5f), g.add(g.number(1.0), g.erf(g.scale(x, 0.70710678f))));
  };
  const Formula by_tanh = [](Graph& g, Tensor x) {
    const Tensor inner = g.add(x, g.scale(g.pow(x, g.number(3.0)), 0.044715f));
    return g.mul(g.scale(x, 0.5f), g.add(g.activation(g.scale(inner, 0.79788456f), Activation::Tanh), g.number(1.0)));
  };
  const Formula by_products = [](Graph& g, Tensor x) {
    const Tensor inner = g.mul(g.scale(x, 0.79788456f), g.add(g.scale(g.mul(x, x), 0.044715f), g.number(1.0)));
    return g.scale(g.mul(x, g.add(g.number(1.0), g.activation(inner, Activation::Tanh))), 0.5f);
  };
  const Formula by_sigmoid = [](Graph& g, Tensor x) { return g.mul(g.sigmoid(x), x); };
  const Formula by_exp = [](Graph& g, Tensor x) { return g.div(x, g.add(g.exp(g.neg(x)), g.number(1.0))); };
  const Formula other_cube = [](Graph& g, Tensor x) {
    const Tensor inner = g.add(x, g.scale(g.pow(x, g.number(3.0)), 0.0447f));
    return g.mul(g.scale(x, 0.5f), g.add(g.activation(g.scale(inner, 0.79788456f), Activation::Tanh), g.number(1.0)));
  };
  const Formula other_sigmoid = [](Graph& g, Tensor x) { return g.mul(g.sigmoid(g.scale(x, 1.702f)), x); };
  CHECK(activation_of(by_erf) == Activation::GeluErf);
  CHECK(activation_of(half_first) == Activation::GeluErf);
  CHECK(activation_of(by_tanh) == Activation::GeluTanh);
  CHECK(activation_of(by_products) == Activation::GeluTanh);
  CHECK(activation_of(by_sigmoid) == Activation::Silu);
  CHECK(activation_of(by_exp) == Activation::Silu);
  CHECK(activation_of(other_cube) == Activation::None);
  CHECK(activation_of(other_sigmoid) == Activation::None);
  CHECK(activation_of(by_erf, true) == Activation::None);  // reproducible plans compute operations as written
}

TEST_CASE("fusion: a gate goes into the matmul that it multiplies", "[graph]") {
  Layer l;
  SECTION("as the last step of the epilogue") {
    const Tensor gate = l.g.activation(l.g.linear(l.x, l.w), Activation::Silu);
    l.g.output("y", l.g.mul(gate, l.g.linear(l.x, l.g.weight("w2", {8, 8}), l.b)));
    const Scheduled s = schedule_of(l.g);
    REQUIRE(ops_of(s.schedule) == std::vector<Op>{Op::Matmul, Op::Matmul});
    CHECK_FALSE(s.schedule.passes[0].as<MatmulAttrs>().gated);
    CHECK(s.schedule.passes[1].as<MatmulAttrs>().gated);
    CHECK(s.schedule.passes[1].inputs[in::kResidual] == s.schedule.passes[0].outputs[0]);
  }
  SECTION("a vector for all rows is none") {
    l.g.output("y", l.g.mul(l.g.linear(l.x, l.w), l.b));
    CHECK(ops_of(schedule_of(l.g).schedule) == std::vector<Op>{Op::Matmul, Op::Elementwise});
  }
  SECTION("a residual is added first: what multiplies the sum stays apart") {
    l.g.output("y", l.g.mul(l.g.add(l.g.linear(l.x, l.w), l.x), l.x));
    CHECK(ops_of(schedule_of(l.g).schedule) == std::vector<Op>{Op::Matmul, Op::Elementwise});
  }
}

TEST_CASE("fusion: a residual without a matmul goes in front of the norm", "[graph]") {
  Graph g;
  const Tensor x = g.input("x", {3, 8}), r = g.input("r", {3, 8});
  g.output("y", g.layernorm(g.add(x, r), {}, {}, 1e-5f));
  const Scheduled s = schedule_of(g);
  REQUIRE(ops_of(s.schedule) == std::vector<Op>{Op::LayerNorm});
  CHECK(s.schedule.passes[0].inputs[in::kX] == x);
  CHECK(s.schedule.passes[0].inputs[in::kNormResidual] == r);
}

TEST_CASE("fusion: a norm adds what is added to its result, but for reproducible plans", "[graph]") {
  for (const bool reproducible : {false, true}) {
    Graph g;
    const Tensor x = g.input("x", {3, 8}), r = g.input("r", {3, 8});
    SECTION(reproducible ? "reproducible" : "otherwise") {
      g.output("y", g.add(r, g.rmsnorm(x, {}, 1e-5f)));
      const Scheduled s = schedule_of(g, {.asked = {.reproducible = reproducible}});
      if (reproducible) {
        CHECK(ops_of(s.schedule) == std::vector<Op>{Op::RmsNorm, Op::Elementwise});
      } else {
        REQUIRE(ops_of(s.schedule) == std::vector<Op>{Op::RmsNorm});
        CHECK(s.schedule.passes[0].inputs[in::kX] == x);
        CHECK(s.schedule.passes[0].inputs[in::kNormResidual] == r);
        CHECK(s.schedule.passes[0].as<NormAttrs>().adds_behind);
      }
    }
  }
  Graph g;
  const Tensor x = g.input("x", {3, 8}), y = g.layernorm(g.scale(x, 2.0f), {}, {}, 1e-5f);
  SECTION("the norm is read elsewhere, too") {
    g.output("y", g.add(y, x));
    g.output("z", y);
    CHECK(ops_of(schedule_of(g).schedule).size() == 3);
  }
  SECTION("it is added to itself") {
    g.output("y", g.add(y, y));
    CHECK(ops_of(schedule_of(g).schedule).size() == 3);
  }
  SECTION("the sum is larger") {
    g.output("y", g.add(y, g.input("w", {2, 3, 8})));
    CHECK(ops_of(schedule_of(g).schedule).size() == 3);
  }
}

TEST_CASE("fusion: attention writes an output itself where its kernel takes any strides", "[graph]") {
  Graph g;
  const Tensor q = g.input("q", {2, 3, 5, 8});
  g.output("y", g.attention(q, q, q, {}).output);
  FusingDevice device;
  CHECK(ops_of(schedule_of(g, {.device = &device}).schedule) == std::vector<Op>{Op::Attention, Op::Elementwise});
  device.traits.strided_attention = true;
  const Scheduled s = schedule_of(g, {.device = &device});
  REQUIRE(ops_of(s.schedule) == std::vector<Op>{Op::Attention});
  CHECK(s.schedule.passes[0].outputs[0].id == s.schedule.outputs[0].tensor);
}

TEST_CASE("fusion: one query of heads that share keys becomes the queries of one head", "[graph]") {
  struct Row {
    int64_t batch, heads, queries;
    Causal causal;
    bool gathers;
  };
  for (const Row& row :
       {Row{1, 6, 1, Causal::None, true}, Row{1, 6, 1, Causal::BottomRight, true}, Row{1, 6, 1, Causal::TopLeft, false},
        Row{1, 2, 1, Causal::None, false}, Row{2, 6, 1, Causal::None, false}, Row{1, 6, 2, Causal::None, false}})
    for (const bool strided : {false, true}) {
      Graph g;
      const Tensor q = g.input("q", {row.batch, row.heads, row.queries, 8}), k = g.input("k", {row.batch, 2, 9, 8});
      g.output("y", g.attention(q, k, k, {.causal = row.causal}).output);
      const FusingDevice device({.strided_attention = strided});
      const Scheduled s = schedule_of(g, {.device = &device});
      const Node& pass = s.schedule.passes[0];
      CAPTURE(row.batch, row.heads, row.queries, strided);
      const auto shape_of = [&](size_t input) { return s.schedule.max_shape(s.schedule.info(pass.inputs[input])); };
      const bool gathers = row.gathers && !strided;
      CHECK(shape_of(in::kQuery) ==
            (gathers ? std::vector<int64_t>{2, 1, 3, 8} : std::vector<int64_t>{row.batch, row.heads, row.queries, 8}));
      CHECK(shape_of(in::kKey) ==
            (gathers ? std::vector<int64_t>{2, 1, 9, 8} : std::vector<int64_t>{row.batch, 2, 9, 8}));
      CHECK((pass.as<AttentionAttrs>().softmax.causal == Causal::None) == (gathers || row.causal == Causal::None));
    }
}

TEST_CASE("fusion: a copy for an output is labelled by the output", "[graph]") {
  Graph g;
  const Tensor x = g.input("x", {3, 8}), y = g.scale(x, 2);
  g.push_label("layer");
  g.output("same", x);
  g.output("y", y);
  g.output("again", y);
  g.pop_label();
  std::vector<std::string> labels;
  for (const Node& node : schedule_of(g).schedule.passes) labels.push_back(node.label);
  CHECK(labels == std::vector<std::string>{"scale", "same.output", "again.output"});
}

TEST_CASE("fusion: attention stays before the readers of its other results", "[graph]") {
  Graph g;
  const Tensor q = g.input("q", {2, 3, 5, 8});
  const AttentionResult result = g.attention(q, q, q, {.return_log_sum_exp = true});
  g.output("y", result.output);
  g.output("z", g.scale(result.log_sum_exp, 2));
  const FusingDevice device({.strided_attention = true});
  const Scheduled s = schedule_of(g, {.device = &device});
  REQUIRE(ops_of(s.schedule) == std::vector<Op>{Op::Attention, Op::Elementwise});
  CHECK(s.schedule.passes[0].outputs[0].id == s.schedule.outputs[0].tensor);
  CHECK(s.schedule.passes[1].inputs[0] == s.schedule.passes[0].outputs[out::kLogSumExp]);
}

TEST_CASE("fusion: factors become one only where that is exact enough", "[graph]") {
  struct Row {
    float first, second;
    bool fused;
  };
  const Row rows[] = {{2.0f, 3.0f, true},    {1e30f, 1e30f, false}, {1e-30f, 1e-30f, false}, {1e-20f, 1e-20f, false},
                      {1e30f, 1e-30f, true}, {1.0f, 1e-40f, true},  {0.0f, 2.0f, false},     {0.0f, 1.0f, true}};
  for (const Row& row : rows) {
    INFO(row.first << " and " << row.second);
    Graph g;
    const Tensor x = g.input("x", {4, 4});
    g.output("scaled", g.scale(g.scale(x, row.first), row.second));
    g.output("product", g.scale(g.matmul(x, x, {.scale = row.first}), row.second));
    const Scheduled s = schedule_of(g);
    // Otherwise a matmul and a pass remain; the factors of the two other passes become steps of that pass.
    CHECK(s.schedule.passes.size() == (row.fused ? 2 : 3));
    if (!row.fused)
      CHECK(s.schedule.passes[0].as<ElementwiseAttrs>().scalar_count == (row.first == row.second ? 1 : 2));
  }
}

TEST_CASE("dropout leaves nothing in evaluation plans and with p = 0", "[graph]") {
  Graph g;
  const Tensor x = g.input("x", {4, 6});
  Tensor y = g.dropout(g.dropout(x, 0.5f), 0.0f);
  y = g.reshape(y, {24});
  g.output("y", g.scale(y, 2));
  CHECK(ops_of(schedule_of(g).schedule) == std::vector<Op>{Op::Elementwise});
  CHECK(ops_of(schedule_of(g, {.asked = {.training = true}}).schedule) ==
        std::vector<Op>{Op::Dropout, Op::Elementwise});
}

TEST_CASE("dropout of a strided view, seen through another view, survives evaluation", "[graph]") {
  Graph g;
  const Tensor x = g.input("x", {4, 6});
  g.output("y", g.reshape(g.dropout(g.transpose(x, 0, 1), 0.5f), {24}));
  const Scheduled s = schedule_of(g);
  REQUIRE(s.status == Status::Ok);
  for (Op op : ops_of(s.schedule)) CHECK(op == Op::Elementwise);
}

namespace {

// The passes of a graph that computes y from an x and an r of f32 [4, 6].
std::vector<Op> chain_of(const std::function<Tensor(Graph&, Tensor, Tensor)>& make) {
  Graph g;
  const Tensor x = g.input("x", {4, 6}), r = g.input("r", {4, 6});
  g.output("y", make(g, x, r));
  const Scheduled s = schedule_of(g);
  REQUIRE(s.status == Status::Ok);
  return ops_of(s.schedule);
}

}  // namespace

TEST_CASE("chains of elementwise functions are one pass", "[graph]") {
  const std::vector<Op> one = {Op::Elementwise}, two = {Op::Elementwise, Op::Elementwise};
  CHECK(chain_of([](Graph& g, Tensor x, Tensor) { return g.mul(x, g.sigmoid(x)); }) == one);
  CHECK(chain_of([](Graph& g, Tensor x, Tensor) {
          const Tensor inner = g.erf(g.mul(x, g.number(0.70710678)));
          return g.mul(g.mul(x, g.number(0.5)), g.add(inner, g.number(1)));
        }) == one);
  CHECK(chain_of([](Graph& g, Tensor x, Tensor r) { return g.clamp(g.add(g.scale(x, 0.5f), r), -1.0f, 1.0f); }) == one);
  CHECK(chain_of([](Graph& g, Tensor x, Tensor r) { return g.where(g.gt(x, r), g.exp(x), g.neg(r)); }) == one);
  CHECK(chain_of([](Graph& g, Tensor x, Tensor r) {
          return g.cast(g.add(g.cast(x, DType::I32), g.cast(r, DType::I32)), DType::F16);
        }) == one);
  // A result with two readers stays, unless both become one pass.
  CHECK(chain_of([](Graph& g, Tensor x, Tensor r) {
          const Tensor y = g.exp(x);
          g.output("kept", y);
          return g.mul(y, r);
        }) == two);
  // A smaller tensor would be recomputed for each element.
  CHECK(chain_of([](Graph& g, Tensor x, Tensor) { return g.mul(x, g.exp(g.input("row", {6}))); }) == two);
  // 16 steps, then 4.
  CHECK(chain_of([](Graph& g, Tensor x, Tensor) {
          for (int i = 0; i < 20; ++i) x = g.sin(x);
          return x;
        }) == two);
  // A rounding to f16 in the middle stays.
  CHECK(chain_of([](Graph& g, Tensor x, Tensor r) { return g.mul(g.cast(g.cast(x, DType::F16), DType::F32), r); }) ==
        two);
}

TEST_CASE("a chain has the steps of its calls, its numbers, and each tensor once", "[graph]") {
  Graph g;
  const Tensor x = g.input("x", {4, 6}), r = g.input("r", {6});
  g.output("y", g.sub(g.mul(x, g.number(0.5)), g.mul(g.add(x, r), g.number(0.5))));
  const Scheduled s = schedule_of(g);
  REQUIRE(s.schedule.passes.size() == 1);
  const Node& node = s.schedule.passes[0];
  const auto& attrs = node.as<ElementwiseAttrs>();
  CHECK(attrs.count == 4);
  CHECK(attrs.scalar_count == 1);
  CHECK(attrs.rank == 2);
  CHECK(node.inputs[0] == x);
  CHECK(node.inputs[1] == r);
  CHECK(!node.inputs[2].valid());
}

TEST_CASE("a pass that writes a state keeps what another makes of it apart", "[graph]") {
  Graph g;
  const Tensor state = g.state("s", {4, 6}), y = g.exp(state);
  (void)g.assign(state, g.mul(y, g.number(0.5)));
  CHECK(ops_of(schedule_of(g).schedule).size() == 2);
}

TEST_CASE("schedule: what no output needs is left out", "[graph]") {
  Graph g;
  const Tensor x = g.input("x", {4, 6});
  (void)g.matmul(x, g.weight("unused", {6, 2}));
  g.output("y", g.scale(x, 2));
  const Scheduled s = schedule_of(g);
  CHECK(ops_of(s.schedule) == std::vector<Op>{Op::Elementwise});
  CHECK(s.schedule.weights.empty());
}

TEST_CASE("schedule: inputs, views and doubles given as outputs are copied", "[graph]") {
  Graph g;
  const Tensor x = g.input("x", {4, 6});
  const Tensor y = g.scale(x, 2);
  g.output("x2", x);
  g.output("y", y);
  g.output("y2", y);
  g.output("part", g.slice(y, 1, 2, 3));
  const Scheduled s = schedule_of(g);
  REQUIRE(s.status == Status::Ok);
  CHECK(s.schedule.passes.size() == 4);
  for (const auto& output : s.schedule.outputs)
    CHECK(s.schedule.placements[s.schedule.tensors[output.tensor].storage].space == Placement::Space::Output);
}

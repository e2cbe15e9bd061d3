#include "harness/setup.hpp"
#include "harness/trial.hpp"

namespace heed::ops {
namespace {

std::string options_text(const RotaryOptions& options) {
  std::string text = options.pairs == RotaryPairs::Halves ? ", halves" : ", adjacent";
  if (options.width != 0) text += ", width " + std::to_string(options.width);
  if (options.scaling.kind == RotaryScaling::Kind::Linear) text += ", linear scaling";
  if (options.scaling.kind == RotaryScaling::Kind::Llama3) text += ", Llama 3's scaling";
  return text;
}

Case rows_case(const Sizes& shape, const RotaryOptions& options = {}) {
  return {text_of(shape) + options_text(options), [=](Trial& t) {
            t.graph.output("y", t.graph.rotary(t.input("x", shape_of(shape)), options));
            Run& run = t.run();
            run.expect("y", rotary(run.input("x", uniform(shape, 141)), options, nullptr));
            t.passes = {"rotary"};
          }};
}

// Positions for every row of x, or for some axes and broadcast along the others.
Case positions_case(const Sizes& shape, const Sizes& positions_shape, int64_t low, int64_t high,
                    const RotaryOptions& options = {}) {
  const std::string name = text_of(shape) + " at positions " + text_of(positions_shape) + " of " + std::to_string(low) +
                           " to " + std::to_string(high) + options_text(options);
  return {name, [=](Trial& t) {
            RotaryOptions given = options;
            given.positions = t.graph.input("positions", shape_of(positions_shape), DType::I32);
            t.graph.output("y", t.graph.rotary(t.input("x", shape_of(shape)), given));
            Run& run = t.run();
            const Array at = run.input("positions", whole_numbers(positions_shape, 142, low, high), DType::I32);
            run.expect("y", rotary(run.input("x", uniform(shape, 143)), options, &at));
            t.passes = {"rotary"};
          }};
}

// Heads in a matmul's layout, [B, S, H, C] viewed as [B, H, S, C], and lengths that differ from run to run.
Case heads_case() {
  return {"heads of extents", [](Trial& t) {
            const Dim b = t.graph.extent("b", 3), s = t.graph.extent("s", 40);
            const RotaryOptions options{.base = 500000.0f};
            const Tensor x = t.input("x", {b, s, 5, 64});
            t.graph.output("y", t.graph.rotary(t.graph.transpose(x, 1, 2), options));
            for (const auto& e : {std::array<int64_t, 2>{3, 40}, {1, 1}, {2, 13}}) {
              Run& run = t.run({{"b", e[0]}, {"s", e[1]}});
              const Array v = run.input("x", uniform({e[0], e[1], 5, 64}, 144));
              run.expect("y", rotary(permute(v, {0, 2, 1, 3}), options, nullptr));
            }
          }};
}

// The even elements, or the odd ones, among the first `width` elements of each row.
Tensor every_second(Graph& g, Tensor x, int64_t first, int64_t width) {
  return g.stride(g.slice(x, 3, first, width - first), 3, 2);
}

// Rotary embedding of x [B, S, H, C], viewed as [B, H, S, C], spelled out. `table`: the shape of cosines and sines without their last axis.
Case spelled_case(RotaryPairs pairs, const Sizes& shape, int64_t width, bool whole, Sizes table) {
  table.push_back(whole ? width : width / 2);
  const std::string name =
      text_of(shape) + options_text({.pairs = pairs, .width = width}) + " by cosines " + text_of(table);
  return {name, [=](Trial& t) {
            Graph& g = t.graph;
            const Tensor x = g.transpose(t.input("x", shape_of(shape)), 1, 2), cos = t.input("cos", shape_of(table)),
                         sin = t.input("sin", shape_of(table));
            const bool halves = pairs == RotaryPairs::Halves;
            const int64_t half = width / 2, channels = shape[3];
            const Tensor a = halves ? g.slice(x, 3, 0, half) : every_second(g, x, 0, width),
                         b = halves ? g.slice(x, 3, half, half) : every_second(g, x, 1, width);
            const Shape one = {shape[0], shape[2], shape[1], half, 1}, all = {shape[0], shape[2], shape[1], width};
            const auto joined = [&](Tensor first, Tensor second) {
              if (halves) return g.concat({first, second}, 3);
              return g.reshape(g.concat({g.reshape(first, one), g.reshape(second, one)}, 4), all);
            };
            Tensor y = whole ? g.add(g.mul(g.slice(x, 3, 0, width), cos), g.mul(joined(g.neg(b), a), sin))
                             : joined(g.sub(g.mul(a, cos), g.mul(b, sin)), g.add(g.mul(b, cos), g.mul(a, sin)));
            if (width < channels) y = g.concat({y, g.slice(x, 3, width, channels - width)}, 3);
            g.output("y", y);
            Run& run = t.run();
            const Array v = permute(run.input("x", uniform(shape, 145)), {0, 2, 1, 3}),
                        c = run.input("cos", uniform(table, 146)), s = run.input("sin", uniform(table, 147));
            run.expect("y", rotary(v, pairs, width, c, s));
          }};
}

}  // namespace

TEST_CASE("rotary on every device", "[ops]") {
  Operation operation{"rotary", {}};
  for (const int64_t n : {2, 4, 6, 32, 34, 64, 80, 128, 258, 770}) {
    operation.cases.push_back(rows_case({3, n}));
    operation.cases.push_back(rows_case({3, n}, {.pairs = RotaryPairs::Adjacent}));
  }
  for (const RotaryPairs pairs : {RotaryPairs::Halves, RotaryPairs::Adjacent}) {
    operation.cases.push_back(rows_case({7, 33}, {.pairs = pairs, .width = 20}));
    operation.cases.push_back(rows_case({2, 3, 5, 64}, {.pairs = pairs, .width = 2}));
    operation.cases.push_back(positions_case({2, 3, 5, 64}, {5}, 0, 100000, {.pairs = pairs}));
  }
  operation.cases.push_back(positions_case({2, 3, 5, 64}, {2, 1, 5}, 0, 8192));
  operation.cases.push_back(positions_case({2, 3, 5, 64}, {2, 3, 5}, -70000, 70000));
  operation.cases.push_back(positions_case({2, 3, 5, 8}, {1}, 2147480000, 2147483647));
  operation.cases.push_back(positions_case({3, 2}, {3}, -2147483647, -2147480000));
  RotaryOptions scaled{.base = 500000.0f, .scaling = {.kind = RotaryScaling::Kind::Llama3, .factor = 32.0f}};
  operation.cases.push_back(positions_case({2, 9, 128}, {9}, 0, 131072, scaled));
  scaled.scaling.kind = RotaryScaling::Kind::Linear;
  operation.cases.push_back(positions_case({2, 9, 128}, {9}, 0, 131072, scaled));
  operation.cases.push_back(rows_case({70001, 4}));
  operation.cases.push_back(heads_case());
  for (const RotaryPairs pairs : {RotaryPairs::Halves, RotaryPairs::Adjacent})
    for (const bool whole : {false, true}) {
      operation.cases.push_back(spelled_case(pairs, {2, 5, 3, 64}, 64, whole, {5}));
      operation.cases.push_back(spelled_case(pairs, {2, 5, 3, 10}, 6, whole, {2, 1, 5}));
      operation.cases.push_back(spelled_case(pairs, {3, 2, 1, 7}, 2, whole, {1, 1, 1}));
      operation.cases.push_back(spelled_case(pairs, {1, 2, 3, 270}, 268, whole, {1, 3, 2}));
    }
  check(operation);
}

TEST_CASE("rotary: two positions differ by what turns between them alone", "[ops]") {
  // The dot product of a query at p and a key at q depends on p - q; with exact angles this holds at any p.
  for (const int32_t far : {0, 1000, 1000000}) {
    Graph g;
    const Tensor at = g.input("at", {2}, DType::I32), x = g.input("x", {2, 64});
    g.output("y", g.rotary(x, {.positions = at}));
    Plan plan = test::compiled(test::open_cpu(), g);
    std::vector<float> values(128), turned(128);
    for (size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(i % 7) - 3.0f;
    const std::vector<int32_t> positions = {far + 5, far};
    REQUIRE(plan.run({{"at", positions}, {"x", values}, {"y", turned}}) == Status::Ok);
    double product = 0.0;
    for (size_t i = 0; i < 64; ++i) product += static_cast<double>(turned[i]) * static_cast<double>(turned[64 + i]);
    static const double first = product;
    CHECK(std::abs(product - first) < 2e-4);
  }
}

TEST_CASE("rotary: mistakes are named") {
  const auto error = [](const Shape& shape, const RotaryOptions& options, DType type = DType::F32) {
    Graph g;
    (void)g.rotary(g.input("x", shape, type), options);
    return std::string(g.error());
  };
  CHECK(error({4, 6}, {}).empty());
  CHECK_THAT(error({6}, {}), holds("[..., S, C]"));
  CHECK_THAT(error({4, 6}, {}, DType::I32), holds("f32, f16 or bf16"));
  CHECK_THAT(error({4, 7}, {}), holds("even width"));
  CHECK_THAT(error({4, 6}, {.width = 8}), holds("not 8"));
  CHECK_THAT(error({4, 6}, {.width = -2}), holds("not -2"));
  CHECK_THAT(error({4, 6}, {.base = 0.5f}), holds("base"));
  const RotaryScaling none = {.kind = RotaryScaling::Kind::Linear, .factor = 0.0f};
  CHECK_THAT(error({4, 6}, {.scaling = none}), holds("factor"));
  const RotaryScaling turned = {.kind = RotaryScaling::Kind::Llama3, .factor = 2.0f, .low = 4.0f, .high = 1.0f};
  CHECK_THAT(error({4, 6}, {.scaling = turned}), holds("low < high"));
  Graph g;
  (void)g.rotary(g.input("x", {2, 3, 8}), {.positions = g.input("p", {2}, DType::I32)});
  CHECK_THAT(std::string(g.error()), holds("broadcasts to [2, 3]"));
  CHECK(g.status() == Status::ShapeMismatch);
  Graph h;
  (void)h.rotary(h.input("x", {2, 3, 8}), {.positions = h.input("p", {3})});
  CHECK(h.status() == Status::DTypeMismatch);
}

}  // namespace heed::ops

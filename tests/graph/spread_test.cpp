#include "harness/catch.hpp"
#include "support.hpp"

using namespace heed;
using namespace heed::test;

namespace {

constexpr int64_t kPitch = 4096;  // bytes: 1,024 floats

Schedule spread(const Graph& g) {
  const detail::PlanningDevice device({.colliding_pitch = kPitch});
  Scheduled s = schedule_of(g, {.device = &device});
  REQUIRE(s.status == Status::Ok);
  return std::move(s.schedule);
}

// Distance between rows of a pass's input in elements, at the extents' maxima.
int64_t row_of(const Schedule& s, size_t pass, size_t input) {
  const TensorInfo& info = s.info(s.passes[pass].inputs[input]);
  return s.max_values[static_cast<size_t>(info.strides[static_cast<size_t>(info.rank - 2)])];
}

Tensor layer(Graph& g, Tensor x, const std::string& name, int64_t out, int64_t in) {
  return g.activation(g.linear(x, g.weight(name, {out, in})), Activation::Relu);
}

}  // namespace

TEST_CASE("spread: rows of scratch that a matmul reads lie two cache lines further apart where they collide",
          "[graph]") {
  for (const int64_t width : {1024, 3072, 768, 1000}) {
    Graph g;
    const Tensor x = g.input("x", {3, g.extent("tokens", 50), 64});
    g.output("y", layer(g, layer(g, x, "up", width, 64), "down", 64, width));
    const Schedule s = spread(g);
    REQUIRE(s.passes.size() == 2);
    const int64_t row = row_of(s, 1, in::kA);
    CHECK(row == (width % 1024 == 0 ? width + 32 : width));
    const Placement& placed = s.placement(s.passes[1].inputs[in::kA]);
    CHECK(placed.bytes == static_cast<uint64_t>(3 * 50 * row * 4));
    CHECK(s.scratch_bytes == placed.bytes);
  }
}

TEST_CASE("spread: through norms and residuals, not behind what writes whole tensors only", "[graph]") {
  Graph g;
  const Tensor x = layer(g, g.input("x", {40, 64}), "a", 1024, 64);
  const Tensor normed = g.rmsnorm(g.layernorm(x, {}, {}, 1e-5f), {}, 1e-6f);
  const Tensor y = g.add(g.linear(normed, g.weight("b", {1024, 1024})), normed);
  g.output("y", layer(g, y, "c", 8, 1024));
  g.output("z", layer(g, g.softmax(y), "d", 8, 1024));
  const Schedule s = spread(g);
  std::vector<int64_t> rows;
  for (size_t i = 0; i < s.passes.size(); ++i)
    if (s.passes[i].op == Op::Matmul && i > 0) rows.push_back(row_of(s, i, in::kA));
  // "b" reads a norm's result, whose rows are spread. "c" and "d" read y, which a softmax also reads, and softmax's result.
  CHECK(rows == std::vector<int64_t>{1024 + 32, 1024, 1024});
}

TEST_CASE("spread: inputs, outputs and views stay as they are", "[graph]") {
  Graph g;
  const Tensor x = g.input("x", {40, 1024});
  const Tensor h = layer(g, x, "a", 1024, 1024);
  const Tensor split = layer(g, x, "b", 1024, 1024);
  g.output("h", h);
  g.output("y", layer(g, h, "c", 8, 1024));
  g.output("z", layer(g, g.reshape(split, {20, 2, 1024}), "d", 8, 1024));
  const Schedule s = spread(g);
  for (size_t i = 0; i < s.passes.size(); ++i) CHECK(row_of(s, i, in::kA) == 1024);
}

// Short sums and small gradients use small workgroups, so that few invocations idle.
#include "kernels/lowered.hpp"

namespace heed::kernel_tests {
namespace {

// Checks the only dispatch of the pass, or one of several.
int64_t workgroups_of(Lowered& lowered, Op op, uint32_t dispatch = 0) {
  const auto [kernels, dispatches] = lowered.lower(lowered.pass(op));
  REQUIRE(dispatch < dispatches.count);
  const auto& groups = dispatches.dispatches[dispatch].groups;
  return int64_t{groups[0]} * groups[1] * groups[2];
}

Graph means(int64_t rows, int64_t length) {
  Graph g;
  g.output("y", g.mean(g.input("x", {rows, length}), 1));
  return g;
}

Graph attention_gradients(int64_t queries, int64_t keys) {
  Graph g;
  const std::array<Tensor, 3> of = {g.input("q", {64, 2, queries, 16}), g.input("k", {64, 2, keys, 16}),
                                    g.input("v", {64, 2, keys, 16})};
  const train::Upstream up{g.attention(of[0], of[1], of[2]).output, g.input("up", {64, 2, queries, 16})};
  for (const Tensor gradient : train::gradients(g, {&up, 1}, of)) g.output("y" + std::to_string(gradient.id), gradient);
  return g;
}

}  // namespace

TEST_CASE("short sums along the last axis share a workgroup") {
  struct Case {
    int64_t length, workgroups;
  };
  for (const Case& c : {Case{16, 256}, {32, 256}, {33, 1024}, {256, 1024}, {257, 4096}}) {
    INFO(c.length);
    Lowered lowered(means(4096, c.length));
    CHECK(workgroups_of(lowered, Op::Reduce) == c.workgroups);
  }
}

TEST_CASE("workgroups of attention's gradients own no more rows than there are") {
  using Spec = AttentionBackwardConstants;
  struct Case {
    int64_t queries, keys;
    std::array<uint32_t, 2> of_queries, of_keys;  // constants `own` and `visit`
  };
  const Case cases[] = {{1, 8, {8, 16}, {8, 16}},
                        {12, 12, {16, 16}, {16, 16}},
                        {1, 300, {8, 16}, {32, 4}},
                        {300, 5, {32, 8}, {8, 16}},
                        {300, 300, {32, 16}, {32, 16}}};
  for (const Case& c : cases) {
    INFO(c.queries << " queries, " << c.keys << " keys");
    const Graph g = attention_gradients(c.queries, c.keys);
    Capabilities device;
    device.shared_bytes = 32768;
    Lowered lowered(g, false, device);
    const auto [kernels, dispatches] = lowered.lower(lowered.pass(Op::AttentionBackward));
    REQUIRE(dispatches.count == 2);
    for (uint32_t d = 0; d < 2; ++d) {
      const auto& spec = kernels.uses[dispatches.dispatches[d].kernel].key.spec;
      CHECK(std::array{spec[Spec::OWN], spec[Spec::VISIT]} == (d == 0 ? c.of_queries : c.of_keys));
      CHECK(spec[Spec::OWN] * spec[Spec::VISIT] >= spec[0]);  // two elements for each invocation
      const int64_t blocks = ((d == 0 ? c.queries : c.keys) + spec[Spec::OWN] - 1) / spec[Spec::OWN];
      CHECK(workgroups_of(lowered, Op::AttentionBackward, d) == 128 * blocks);
    }
  }
}

}  // namespace heed::kernel_tests

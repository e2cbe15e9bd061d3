// Counts the dispatches of a transformer. An operation that is fused into its neighbour needs none.

#include "kernels/lowered.hpp"

namespace heed::kernel_tests {
namespace {

// 12 layers, 768 wide, 12 heads, feed-forward of 3,072 with GELU, post-norm.
Graph encoder(int64_t tokens) {
  Graph g;
  const nn::EncoderLayerOptions layer = {.attention = {.heads = 12},
                                         .feed_forward = {.hidden = 3072, .activation = Activation::GeluErf}};
  const Tensor x = g.input("x", {1, tokens, 768});
  g.output("y", nn::encoder_stack(g, x, "layers", layer, {.layers = 12}));
  return g;
}

uint32_t dispatches_of(int64_t tokens, const Capabilities& device) {
  Lowered lowered(encoder(tokens), false, device);
  uint32_t count = 0;
  for (const Node& node : lowered.schedule.passes) count += lowered.lower(node).dispatches.count;
  return count;
}

TEST_CASE("an encoder of 12 layers takes fewer than 90 dispatches") {
  Capabilities gpu;
  gpu.subgroup_size = 32;
  gpu.subgroup_arithmetic = gpu.subgroup_ballot = gpu.subgroup_shuffle = true;
  Capabilities software = gpu;
  software.subgroup_size = 8;
  software.cores = 4;
  for (const Capabilities& device : {Capabilities{}, gpu, software}) {
    const uint32_t count = dispatches_of(512, device);
    std::printf("encoder of 12 layers, 512 tokens: %u dispatches\n", count);
    CHECK(count < 90);
    // With fewer tokens a GPU would idle, so that some passes are split and combined.
    CHECK(dispatches_of(128, device) < 120);
  }
}

}  // namespace
}  // namespace heed::kernel_tests

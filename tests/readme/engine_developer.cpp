#include <heed/heed.hpp>
#include <heed/vulkan.hpp>

// While loading: lend heed the renderer's device, and compile what the game needs. `host` holds the renderer's
// instance, device, queue, and what it enabled; `tensors` the weights.
heed::Status load(const heed::vulkan::HostDevice& host, std::span<const heed::HostTensor> tensors, heed::Plan* plan) {
  heed::Graph g;
  const heed::Tensor agents = g.input("agents", {1, g.extent("agents", 256), 64});
  const heed::Tensor items = g.input("items", {1, g.extent("items", 1024), 64});
  g.output("chosen", heed::nn::cross_attention(g, agents, items, "choose", {.heads = 4}));

  heed::Device device;
  heed::Weights weights;
  heed::Status s = heed::vulkan::adopt(host, &device);
  if (s == heed::Status::Ok) s = device.upload(tensors, &weights);
  if (s == heed::Status::Ok) s = device.compile(g, weights, plan);
  return s;  // every failure is here, before the first frame
}

// Each frame: dispatches and barriers go into the renderer's command buffer. Nothing is allocated or submitted.
heed::Status frame(const heed::Plan& plan, VkCommandBuffer cmd, VkBuffer agents, VkBuffer items, VkBuffer chosen,
                   int64_t agent_count, int64_t item_count, uint32_t frame_index) {
  const heed::vulkan::Buffer buffers[] = {{"agents", agents}, {"items", items}, {"chosen", chosen}};
  const heed::ExtentValue extents[] = {{"agents", agent_count}, {"items", item_count}};
  return heed::vulkan::record(plan, cmd, {.buffers = buffers, .extents = extents, .slot = frame_index % 2});
}

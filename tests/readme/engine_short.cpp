#include <heed/heed.hpp>
#include <heed/vulkan.hpp>

// The lines of README.md, with the names that a renderer has.
heed::Status first_steps(const heed::vulkan::HostDevice& host, std::span<const heed::HostTensor> tensors,
                         VkCommandBuffer cmd, VkBuffer agents_buffer, VkBuffer look_buffer, int64_t count,
                         heed::Plan* kept) {
  heed::Device device;
  heed::Weights weights;
  heed::Plan plan;

  // While loading: every call that may fail or take time.
  heed::Graph g;
  const heed::Tensor agents = g.input("agents", {1, g.extent("count", 256), 64});
  g.output("look", heed::nn::self_attention(g, agents, "flock", {.heads = 4}));
  heed::Status s = heed::vulkan::adopt(host, &device);              // the renderer's VkDevice
  if (s == heed::Status::Ok) s = device.upload(tensors, &weights);  // "flock.wqkv.weight" and so on
  if (s == heed::Status::Ok) s = device.compile(g, weights, &plan);

  // In each frame: dispatches and barriers go into the renderer's command buffer.
  const heed::vulkan::Buffer buffers[] = {{"agents", agents_buffer}, {"look", look_buffer}};
  const heed::ExtentValue extents[] = {{"count", count}};
  if (s == heed::Status::Ok) s = heed::vulkan::record(plan, cmd, {.buffers = buffers, .extents = extents});

  *kept = plan;  // until the GPU has finished the command buffer
  return s;
}

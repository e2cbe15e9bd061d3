#include <heed/heed.hpp>
#include <heed/vulkan.hpp>
#include <heed/vulkan_frames.hpp>

struct Steering {
  heed::Plan plan;
  heed::vulkan::Cursor run;  // how far the run is that frames are at
  uint32_t runs = 0;         // that have ended
};

// While loading: lends heed the renderer's device, and compiles the policy. Every failure is here, before the first frame.
heed::Status load(const heed::vulkan::HostDevice& host, std::string_view file, Steering* steering) {
  const heed::OnnxExtent largest[] = {{"count", 256}};  // one plan for any number of agents up to this
  heed::Device device;
  heed::OnnxModel model;
  heed::Status s = heed::vulkan::adopt(host, &device);
  if (s == heed::Status::Ok) s = heed::OnnxModel::open(file, heed::stderr_log(), &model);
  if (s == heed::Status::Ok)
    s = model.compile(device, {.extents = largest}, heed::stderr_log(), &steering->plan, {.timestamps = true});
  return s;
}

// In each frame: records what the GPU should do in half a millisecond. Nothing is allocated, submitted or waited for. While a run goes on,
// `agents` and `count` stay as they are; when it is done, `velocity` is there once the GPU has finished this frame.
heed::Status frame(VkCommandBuffer cmd, VkBuffer agents, VkBuffer velocity, int64_t count, Steering* steering) {
  const heed::vulkan::Buffer buffers[] = {{"agents", agents}, {"velocity", velocity}};
  const heed::ExtentValue extents[] = {{"count", count}};
  const heed::vulkan::RecordInfo info = {.buffers = buffers, .extents = extents, .slot = steering->runs % 2};
  const heed::Status s = heed::vulkan::record_some(steering->plan, cmd, info, 0.5, &steering->run);
  if (s != heed::Status::Ok || !steering->run.done()) return s;
  steering->run = {};  // and the next frame begins another one
  ++steering->runs;
  return s;
}

// Measures what a saved pipeline cache saves: compiles the same plan twice on an adopted device, first with an empty cache and then with
// the data of the first one. The driver must keep compiled code, as Mesa's RADV does even without hardware. Prints one line "ok ..." or
// "FAIL ...".
#include <chrono>
#include <cstdio>
#include <heed/heed.hpp>
#include <heed/nn.hpp>
#include <heed/vulkan.hpp>
#include <vector>

#include "vulkan/calls/functions.hpp"
#include "vulkan/probe/capabilities.hpp"
#include "vulkan/probe/instance.hpp"

using namespace heed;
using vulkan::structure;

namespace {

constexpr double kLeastGain = 4;  // a cache that was read saves far more than this

// An encoder layer. Weights are inputs, since a device without hardware has no memory for uploads.
Graph layer() {
  Graph g;
  const Tensor x = g.input("x", {1, g.extent("tokens", 512), 256});
  const auto linear = [&](Tensor t, const char* name, int64_t in, int64_t out) {
    return g.matmul(t, g.input(name, {in, out}));
  };
  const Tensor q = g.input("q", {1, 4, 512, 64});
  g.output("attended", g.attention(q, q, q).output);
  const Tensor hidden = g.activation(linear(x, "up", 256, 1024), Activation::GeluErf);
  g.output("y", g.layernorm(g.add(x, linear(hidden, "down", 1024, 256)), {}, {}, 1e-5f));
  return g;
}

struct Start {
  double milliseconds = 0;
  size_t pipelines = 0;
  std::vector<std::byte> cache;
};

// One start of a host: creates a device and a cache, adopts the device, and compiles a plan.
bool start(vulkan::Instance& instance, const vulkan::PhysicalDevice& physical, std::span<const std::byte> kept,
           Start* result) {
  vulkan::Functions vk = instance.functions();
  const float priority = 1;
  auto queue = structure<VkDeviceQueueCreateInfo>(VK_STRUCTURE_TYPE_DEVICE_QUEUE_CREATE_INFO);
  queue.queueCount = 1;
  queue.pQueuePriorities = &priority;
  auto info = structure<VkDeviceCreateInfo>(VK_STRUCTURE_TYPE_DEVICE_CREATE_INFO);
  info.queueCreateInfoCount = 1;
  info.pQueueCreateInfos = &queue;
  VkDevice device = VK_NULL_HANDLE;
  if (vk.CreateDevice(physical.handle, &info, nullptr, &device) != VK_SUCCESS) return false;
  VkPipelineCache cache = VK_NULL_HANDLE;
  auto cache_info = structure<VkPipelineCacheCreateInfo>(VK_STRUCTURE_TYPE_PIPELINE_CACHE_CREATE_INFO);
  cache_info.initialDataSize = kept.size();
  cache_info.pInitialData = kept.data();
  bool ok = vulkan::load_device_functions(device, &vk) == nullptr &&
            vk.CreatePipelineCache(device, &cache_info, nullptr, &cache) == VK_SUCCESS;
  if (ok) {
    Device guest;
    Plan plan;
    ok = vulkan::adopt({.instance = instance.handle(),
                        .physical_device = physical.handle,
                        .device = device,
                        .get_instance_proc_addr = vk.GetInstanceProcAddr,
                        .api_version = instance.api_version(),
                        .pipeline_cache = cache,
                        .log = stderr_log()},
                       &guest) == Status::Ok;
    const auto before = std::chrono::steady_clock::now();
    ok = ok && guest.compile(layer(), {}, &plan, {.host_scratch = true}) == Status::Ok;
    const std::chrono::duration<double, std::milli> taken = std::chrono::steady_clock::now() - before;
    result->milliseconds = taken.count();
    if (ok) result->pipelines = plan.pipeline_count();
    size_t bytes = 0;
    ok = ok && vk.GetPipelineCacheData(device, cache, &bytes, nullptr) == VK_SUCCESS;
    result->cache.resize(bytes);
    ok = ok && vk.GetPipelineCacheData(device, cache, &bytes, result->cache.data()) == VK_SUCCESS;
  }
  if (cache != VK_NULL_HANDLE) vk.DestroyPipelineCache(device, cache, nullptr);
  if (vk.DestroyDevice != nullptr) vk.DestroyDevice(device, nullptr);
  return ok;
}

}  // namespace

int main(int argc, char** argv) {
  const char* name = argc > 1 ? argv[1] : "this device";
  const auto instance = vulkan::Instance::create({.log = stderr_log()});
  const auto devices = instance != nullptr ? instance->physical_devices() : std::vector<VkPhysicalDevice>{};
  Start cold, warm;
  if (devices.empty()) {
    std::printf("FAIL warm start on %s: there is no Vulkan device\n", name);
    return 1;
  }
  const auto physical = vulkan::read_physical_device(instance->functions(), devices[0], instance->api_version());
  if (!start(*instance, physical, {}, &cold) || !start(*instance, physical, cold.cache, &warm)) {
    std::printf("FAIL warm start on %s: no plan was made\n", name);
    return 1;
  }
  const bool fast = warm.milliseconds * kLeastGain < cold.milliseconds;
  std::printf(
      "%s warm start on %s: %zu pipelines, cold %.1f ms, with the %zu bytes of the first start's cache %.1f "
      "ms\n",
      fast ? "ok" : "FAIL", name, cold.pipelines, cold.milliseconds, cold.cache.size(), warm.milliseconds);
  return fast ? 0 : 1;
}

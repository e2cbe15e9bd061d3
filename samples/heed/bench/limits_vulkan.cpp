// Limits of a Vulkan device, measured without heed: multiply-adds and vkCmdCopyBuffer on a separate VkDevice.
#include <algorithm>

#include "bench/limits.hpp"

#ifdef HEED_BENCH_VULKAN
#include "vulkan/multiply_add.hpp"

namespace heed::program {

namespace {

constexpr double kTargetSeconds = 0.02;                      // far below any watchdog's limit
constexpr VkDeviceSize kCopyBytes = VkDeviceSize{64} << 20;  // more than most caches, and within every device's limits
constexpr int kRounds = 5;

double best_multiply_add(const BareDevice& device, const MultiplyAdd& loop) {
  const uint32_t steps = loop.steps_for(kTargetSeconds);
  double best = 0;
  for (int i = 0; i < kRounds && steps > 0; ++i) {
    const double seconds = device.time([&](VkCommandBuffer commands) {
      loop.record(commands, steps);
      return true;
    });
    if (seconds > 0) best = std::max(best, MultiplyAdd::operations(steps) / seconds * 1e-9);
  }
  return best;
}

double best_copy(const BareDevice& device, VkBuffer from, VkBuffer to) {
  double best = 0;
  for (int i = 0; i < kRounds; ++i) {
    const double seconds = device.time([&](VkCommandBuffer commands) {
      const VkBufferCopy region = {0, 0, kCopyBytes};
      device.vk().CmdCopyBuffer(commands, from, to, 1, &region);
      return true;
    });
    if (seconds > 0) best = std::max(best, 2.0 * static_cast<double>(kCopyBytes) / seconds * 1e-9);
  }
  return best;
}

}  // namespace

Limits vulkan_limits(const DeviceInfo& info) {
  Limits limits;
  limits.gflops_how = "multiply-add shader";
  limits.gigabytes_how = "vkCmdCopyBuffer of 64 MiB";
  BareDevice device;
  MultiplyAdd loop(device);
  VkBuffer from = VK_NULL_HANDLE, to = VK_NULL_HANDLE;
  const char* failed = device.open(info);
  if (!failed) failed = device.make_buffer(kCopyBytes, &from);
  if (!failed) failed = device.make_buffer(kCopyBytes, &to);
  if (!failed) failed = loop.make(from);
  if (failed) {
    limits.why = std::string(failed) + " failed";
    return limits;
  }
  limits.gflops = best_multiply_add(device, loop);
  limits.gigabytes = best_copy(device, from, to);
  if (limits.gflops <= 0 || limits.gigabytes <= 0) limits.why = "a submission failed";
  return limits;
}

}  // namespace heed::program

#else  // without Vulkan there are no Vulkan devices

namespace heed::program {
Limits vulkan_limits(const DeviceInfo&) {
  Limits limits;
  limits.why = "this program was built without Vulkan";
  return limits;
}
}  // namespace heed::program

#endif

// One opened device: handles, functions, limits and log. The device owns it; pipelines, buffers and plans refer to it.
#pragma once

#include <algorithm>
#include <atomic>
#include <heed/device.hpp>
#include <heed/vulkan.hpp>
#include <heed/vulkan_memory.hpp>
#include <memory>
#include <mutex>

#include "vulkan/calls/functions.hpp"
#include "vulkan/probe/capabilities.hpp"

namespace heed::vulkan {

struct Context {
  Functions vk;
  VkDevice device = VK_NULL_HANDLE;
  const VkAllocationCallbacks* allocator = nullptr;
  MemoryAllocator memory;          // the host's; empty: heed allocates device memory itself
  bool memory_budget = false;      // VK_EXT_memory_budget is enabled
  VkQueue queue = VK_NULL_HANDLE;  // null if the host gave none
  QueueAccess queue_access;        // the host's
  uint32_t queue_family = 0;
  PhysicalDevice physical;
  Capabilities capabilities;
  DeviceInfo info;
  Log log;
  bool labels = false;  // VK_EXT_debug_utils is available and enabled by the options

  // vkQueueSubmit needs external synchronization. Locked where heed submits: uploads, runs, and calls of State.
  std::mutex queue_mutex;
  // Set by the first VK_ERROR_DEVICE_LOST; from then on every call returns DeviceLost.
  std::atomic<bool> lost{false};
  std::atomic<bool> timed_out{false};  // lost because a wait exceeded its time limit
  // A submission did not end. Vulkan forbids destroying objects that it may still use, so nothing is destroyed from then on: a leak in a
  // process whose GPU hangs anyway.
  std::atomic<bool> hung{false};
  // The host has called device_gone; lost and hung are set, too. Even mapped memory must not be read from then on.
  std::atomic<bool> gone{false};

  // Ok for success codes; otherwise logs "<what>: <VkResult>", sets `lost` if the device is lost, and returns the closest Status.
  Status check(const char* what, VkResult result);
  // Ok, or DeviceLost with a message that names `what`.
  Status alive(const char* what) const;
  // The same, but Ok for a lost device that still exists, whose memory may be read.
  Status there(const char* what) const;
  bool can_submit() const { return queue != VK_NULL_HANDLE || queue_access.submit != nullptr; }

  // Alignment of weights, scratch, States, constants, inputs and outputs within a buffer.
  uint64_t buffer_alignment() const { return std::max<uint64_t>(256, capabilities.storage_alignment); }
  uint32_t timestamp_bits() const { return physical.queue_families[queue_family].timestampValidBits; }

  // Names a Vulkan object in captures and validation messages.
  void name(VkObjectType type, uint64_t handle, const char* text) const;
  template <class Handle>
  void name(VkObjectType type, Handle handle, const char* text) const {
    // Non-dispatchable handles are pointers on 64-bit platforms and integers on others.
    name(type, (uint64_t)(handle), text);
  }
};

}  // namespace heed::vulkan

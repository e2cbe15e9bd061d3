// A VkBuffer with memory of its own.
#pragma once

#include <cstddef>

#include "vulkan/context/context.hpp"
#include "vulkan/memory/device_memory.hpp"

namespace heed::vulkan {

class DeviceBuffer {
 public:
  DeviceBuffer() = default;
  ~DeviceBuffer() { destroy(); }
  DeviceBuffer(const DeviceBuffer&) = delete;
  DeviceBuffer& operator=(const DeviceBuffer&) = delete;

  // `bytes` >= 1. `what` is a static text that names the buffer in messages and captures ("scratch"). Host-visible memory stays mapped.
  // OutOfDeviceMemory if no memory can hold it; the buffer is then empty.
  Status create(Context& context, const char* what, uint64_t bytes, VkBufferUsageFlags usage, MemoryUse use);
  void destroy();

  explicit operator bool() const { return buffer_ != VK_NULL_HANDLE; }
  VkBuffer handle() const { return buffer_; }
  uint64_t bytes() const { return bytes_; }
  std::byte* mapped() const { return memory_.mapped(); }  // null for MemoryUse::Device

  // Call flush between host writes and a submission, and invalidate between a wait and host reads. Both do nothing on coherent memory. A
  // range begins and ends at multiples of 256, which nonCoherentAtomSize never exceeds.
  Status flush(VkDeviceSize offset = 0, VkDeviceSize bytes = VK_WHOLE_SIZE) { return memory_.flush(offset, bytes); }
  Status invalidate(VkDeviceSize offset = 0, VkDeviceSize bytes = VK_WHOLE_SIZE) {
    return memory_.invalidate(offset, bytes);
  }

 private:
  Context* context_ = nullptr;
  VkBuffer buffer_ = VK_NULL_HANDLE;
  DeviceMemory memory_;
  uint64_t bytes_ = 0;
};

}  // namespace heed::vulkan

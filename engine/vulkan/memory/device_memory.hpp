// Memory for one buffer, from the host's allocator if given, else from the driver.
#pragma once

#include "vulkan/context/context.hpp"
#include "vulkan/memory/memory_types.hpp"

namespace heed::vulkan {

class DeviceMemory {
 public:
  DeviceMemory() = default;
  ~DeviceMemory() { free(); }
  DeviceMemory(const DeviceMemory&) = delete;
  DeviceMemory& operator=(const DeviceMemory&) = delete;

  // Allocates memory for `buffer`; mapped except for MemoryUse::Device. `what` names it in messages.
  Status allocate(Context& context, const char* what, VkBuffer buffer, MemoryUse use);
  void free();

  VkDeviceMemory handle() const { return block_.memory; }
  VkDeviceSize offset() const { return block_.offset; }
  std::byte* mapped() const { return mapped_; }

  // Does nothing on coherent memory.
  Status flush(VkDeviceSize offset, VkDeviceSize bytes);
  Status invalidate(VkDeviceSize offset, VkDeviceSize bytes);

 private:
  Status from_host(MemoryRequest request);
  Status check_block(const MemoryRequest& request) const;
  Status from_driver(const MemoryRequest& request, const MemoryTypeOrder& order);
  Status map();
  VkMappedMemoryRange range(VkDeviceSize offset, VkDeviceSize bytes) const;

  Context* context_ = nullptr;
  MemoryBlock block_;
  std::byte* mapped_ = nullptr;
  VkDeviceSize bytes_ = VK_WHOLE_SIZE;  // the size meant by VK_WHOLE_SIZE in flush and invalidate
  bool of_host_ = false;
  bool coherent_ = true;
};

// Reads VK_EXT_memory_budget, which must be enabled. Heaps that the driver does not report have a budget of 0.
VkPhysicalDeviceMemoryBudgetPropertiesEXT read_memory_budget(const Context& context);

}  // namespace heed::vulkan

// Which memory type a buffer should live in. Policy only: works on the driver's table.
#pragma once

#include <vulkan/vulkan_core.h>

#include <array>
#include <cstdint>

namespace heed::vulkan {

enum class MemoryUse : uint8_t {
  Device,     // read and written by the GPU only
  Constants,  // written once by the host, read by the GPU
  Staging,    // written and read by the host, copied by the GPU
  Shared,     // used in place by both: device-local and cached; only where there is no other copy to save
};

struct MemoryTypeOrder {
  uint32_t count = 0;
  std::array<uint32_t, VK_MAX_MEMORY_TYPES> types{};
};

// The types of `allowed` (bits) that can serve, best first; the next one is tried when an allocation fails.
MemoryTypeOrder order_memory_types(const VkPhysicalDeviceMemoryProperties& memory, uint32_t allowed,
                                   MemoryUse use, uint64_t bytes);

// True if buffers that host and GPU use in place cost nothing: one memory for both.
bool has_shared_memory(const VkPhysicalDeviceMemoryProperties& memory, VkPhysicalDeviceType type);

}  // namespace heed::vulkan

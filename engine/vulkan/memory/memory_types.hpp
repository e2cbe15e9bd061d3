// Chooses the memory type of a buffer. Policy only: works on the driver's table.
#pragma once

#include <vulkan/vulkan_core.h>

#include <array>
#include <cstdint>
#include <heed/vulkan_memory.hpp>

namespace heed::vulkan {

// The properties that a memory type must have, and those that it should have. A host that allocates for heed is told both.
struct MemoryProperties {
  VkMemoryPropertyFlags required = 0, preferred = 0;
};
MemoryProperties properties_for(MemoryUse use);

struct MemoryTypeOrder {
  uint32_t count = 0;
  std::array<uint32_t, VK_MAX_MEMORY_TYPES> types{};
  uint32_t bits() const {
    uint32_t result = 0;
    for (uint32_t i = 0; i < count; ++i) result |= 1u << types[i];
    return result;
  }
};

// The types of `allowed` (bits) that can serve, best first; the next one is tried when an allocation fails.
MemoryTypeOrder order_memory_types(const VkPhysicalDeviceMemoryProperties& memory, uint32_t allowed, MemoryUse use,
                                   uint64_t bytes);

// True if buffers that host and GPU use in place cost nothing: one memory for both.
bool has_shared_memory(const VkPhysicalDeviceMemoryProperties& memory, VkPhysicalDeviceType type);

}  // namespace heed::vulkan

// Chooses the memory type of a buffer from the driver's table; calls no Vulkan.
#pragma once

#include <vulkan/vulkan_core.h>

#include <array>
#include <cstdint>
#include <heed/vulkan_memory.hpp>

namespace heed::vulkan {

// The properties that a memory type must have, and those that it should have. A host's allocator receives both.
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

// The usable types among `allowed` (bits), best first; if an allocation fails, the next one is tried.
MemoryTypeOrder order_memory_types(const VkPhysicalDeviceMemoryProperties& memory, uint32_t allowed, MemoryUse use,
                                   uint64_t bytes);

// Whether GPU and host have one memory, so that buffers used in place by both have no drawback.
bool has_shared_memory(const VkPhysicalDeviceMemoryProperties& memory, VkPhysicalDeviceType type);

}  // namespace heed::vulkan

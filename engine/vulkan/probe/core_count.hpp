// Counts what runs workgroups side by side on a device.
#pragma once

#include <span>

#include "vulkan/calls/functions.hpp"

namespace heed::vulkan {

// Compute units, streaming multiprocessors or shader cores, where an extension tells; 0 where none does. These
// extensions' properties may be read without enabling them. `device` must know Vulkan 1.1.
uint32_t read_core_count(const Functions& vk, VkPhysicalDevice device,
                         std::span<const VkExtensionProperties> extensions);

// A guess for a device whose driver does not tell.
uint32_t likely_core_count(VkPhysicalDeviceType type);

}  // namespace heed::vulkan

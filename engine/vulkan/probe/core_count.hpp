// The number of cores that run workgroups in parallel.
#pragma once

#include <span>

#include "vulkan/calls/functions.hpp"

namespace heed::vulkan {

// Compute units, streaming multiprocessors or shader cores, if an extension reports them; else 0. These properties may be read without
// enabling the extension. `device` must support Vulkan 1.1.
uint32_t read_core_count(const Functions& vk, VkPhysicalDevice device,
                         std::span<const VkExtensionProperties> extensions);

// An estimate for a device whose driver does not report it.
uint32_t likely_core_count(VkPhysicalDeviceType type);

}  // namespace heed::vulkan

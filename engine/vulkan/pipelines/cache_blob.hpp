// The pipeline cache as a host stores it between starts: a small header, then the driver's data.
//
// Drivers hardly validate this data, and a host's file may be truncated or come from another machine. So a blob contains its length and a
// checksum, and the driver's own header must name this device and driver.
#pragma once

#include <vulkan/vulkan_core.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace heed::vulkan {

std::vector<std::byte> wrap_cache_blob(std::span<const std::byte> driver_data);

// The driver's data within `blob`; empty if it cannot be used, with the reason in *why (static text).
std::span<const std::byte> open_cache_blob(std::span<const std::byte> blob,
                                           const VkPhysicalDeviceProperties& properties, const char** why);

}  // namespace heed::vulkan

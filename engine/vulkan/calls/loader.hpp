// Finds the machine's Vulkan loader at run time, so that a program with heed also starts without one.
#pragma once

#include <vulkan/vulkan_core.h>

#include <string_view>

namespace heed::vulkan {

// vkGetInstanceProcAddr of the Vulkan loader, or null if there is none. `file` (if empty, the test setting HEED_VULKAN_LOADER) names
// another library file to load instead.
PFN_vkGetInstanceProcAddr find_loader(std::string_view file = {});

}  // namespace heed::vulkan

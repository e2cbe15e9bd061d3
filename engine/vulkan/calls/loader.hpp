// Finds the machine's Vulkan loader at run time, so that a program with heed starts where there is none.
#pragma once

#include <vulkan/vulkan_core.h>

#include <string_view>

namespace heed::vulkan {

// vkGetInstanceProcAddr of the Vulkan loader, or null if there is none. `file`, or where that is empty the test setting
// HEED_VULKAN_LOADER, names another library file to take instead.
PFN_vkGetInstanceProcAddr find_loader(std::string_view file = {});

}  // namespace heed::vulkan

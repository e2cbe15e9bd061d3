// VkResult as text and as Status.
#pragma once

#include <vulkan/vulkan_core.h>

#include <heed/status.hpp>

namespace heed::vulkan {

// The enumerator's name, e.g. "VK_ERROR_DEVICE_LOST". Never null; static storage.
const char* to_string(VkResult result);

// The closest Status. Ok for every success code.
Status to_status(VkResult result);

// Ok for success codes; otherwise logs "<what>: <VkResult name>" and returns the closest Status.
Status check(const Log& log, const char* what, VkResult result);

}  // namespace heed::vulkan

// The part of the counting table that host_vulkan.hpp needs.
#pragma once

#include <vulkan/vulkan_core.h>

namespace heed::test {

PFN_vkVoidFunction VKAPI_CALL counting_instance_proc(VkInstance instance, const char* name);
void set_real_instance_proc(PFN_vkGetInstanceProcAddr real);

}  // namespace heed::test

// A driver with faults: a table of functions that does what the real one does, but for the kernels that are
// named. heed names its pipelines, and that is how kernels are known here.
//
// Used in two ways: as the vkGetInstanceProcAddr that a host hands to heed, and as a Vulkan loader of its own
// (the module heed_sabotage, to be named in HEED_VULKAN_LOADER), which takes what to do from
// HEED_SABOTAGE_HANG and HEED_SABOTAGE_WRONG when a device is made.
#pragma once

#include <vulkan/vulkan_core.h>

#include <string>
#include <vector>

namespace heed::test {

// Kernels by the beginning of their names, so that variants are meant, too.
struct Sabotage {
  std::string wrong = {};       // dispatches of this kernel do nothing
  std::string hang = {};        // the wait for work with this kernel times out, once
  std::string lose = {};        // the wait for work with this kernel says that the device is lost
  uint32_t fills = UINT32_MAX;  // only so many fills with 1 take place: a GPU that stops there
};
void sabotage(const Sabotage& what);
// Names of labels begun in command buffers since the last call.
std::vector<std::string> take_labels();
// Names given to objects of this type since the last call.
std::vector<std::string> take_names(VkObjectType type);

void set_sabotaged(PFN_vkGetInstanceProcAddr real);
PFN_vkVoidFunction VKAPI_CALL sabotaged_instance_proc(VkInstance instance, const char* name);

}  // namespace heed::test

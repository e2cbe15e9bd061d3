// A driver with faults: a table of functions that does what the real one does, except for the kernels that are named.
// heed names pipelines after kernels, by which these are known here.
//
// Used in two ways: as the vkGetInstanceProcAddr that a host hands to heed, and as a Vulkan loader of its own
// (the module heed_sabotage, to be named in HEED_VULKAN_LOADER), which takes what to do from
// HEED_SABOTAGE_HANG and HEED_SABOTAGE_WRONG when a device is made.
#pragma once

#include <vulkan/vulkan_core.h>

#include <string>
#include <vector>

namespace heed::test {

// Keeps the real function, and returns the one that stands in for it; null if there is none.
template <class F>
PFN_vkVoidFunction replace(PFN_vkVoidFunction real, F* kept, F ours) {
  if (real == nullptr) return nullptr;
  *kept = reinterpret_cast<F>(real);
  return reinterpret_cast<PFN_vkVoidFunction>(ours);
}

// Kernels are named by the beginnings of their names, so that variants are meant, too.
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

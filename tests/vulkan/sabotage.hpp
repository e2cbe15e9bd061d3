// A driver with faults: a function table that forwards to the real driver, except for the named kernels. heed names pipelines after
// kernels, by which the table knows them.
//
// It is used in two ways: as the vkGetInstanceProcAddr that a host gives to heed, and as a Vulkan loader (the module heed_sabotage, for
// HEED_VULKAN_LOADER), which reads HEED_SABOTAGE_HANG and HEED_SABOTAGE_WRONG when a device is created.
#pragma once

#include <vulkan/vulkan_core.h>

#include <string>
#include <vector>

namespace heed::test {

// Saves the real function, and returns its replacement; null if there is none.
template <class F>
PFN_vkVoidFunction replace(PFN_vkVoidFunction real, F* kept, F ours) {
  if (real == nullptr) return nullptr;
  *kept = reinterpret_cast<F>(real);
  return reinterpret_cast<PFN_vkVoidFunction>(ours);
}

// Kernels are named by prefixes, which include their variants.
struct Sabotage {
  std::string wrong = {};       // dispatches of this kernel do nothing
  std::string hang = {};        // the wait for work with this kernel times out, once
  std::string lose = {};        // the wait for work with this kernel reports a lost device
  uint32_t fills = UINT32_MAX;  // executes only so many fills with 1, like a GPU that stops there
};
void sabotage(const Sabotage& what);
// Names of labels begun in command buffers since the last call.
std::vector<std::string> take_labels();
// Names given to objects of this type since the last call.
std::vector<std::string> take_names(VkObjectType type);

void set_sabotaged(PFN_vkGetInstanceProcAddr real);
PFN_vkVoidFunction VKAPI_CALL sabotaged_instance_proc(VkInstance instance, const char* name);

}  // namespace heed::test

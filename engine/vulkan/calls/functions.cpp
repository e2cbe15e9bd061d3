#include "vulkan/calls/functions.hpp"

namespace heed::vulkan {

// Stores what load(name) finds. HEED_LOAD also notes the first function that is not there.
#define HEED_LOAD_OPTIONAL(name) table->name = reinterpret_cast<PFN_vk##name>(load("vk" #name));
#define HEED_LOAD(name)    \
  HEED_LOAD_OPTIONAL(name) \
  if (table->name == nullptr && missing == nullptr) missing = "vk" #name;

const char* load_global_functions(PFN_vkGetInstanceProcAddr get, Functions* table) {
  const char* missing = nullptr;
  table->GetInstanceProcAddr = get;
  const auto load = [&](const char* name) { return get(VK_NULL_HANDLE, name); };
  HEED_VULKAN_GLOBAL(HEED_LOAD)
  return missing;
}

const char* load_instance_functions(VkInstance instance, bool debug_utils, Functions* table) {
  const char* missing = nullptr;
  const auto load = [&](const char* name) { return table->GetInstanceProcAddr(instance, name); };
  HEED_VULKAN_INSTANCE(HEED_LOAD)
  if (!debug_utils) return missing;
  // The label and name calls belong to the device, but as an instance extension they come from here on all
  // loaders.
  HEED_VULKAN_DEBUG(HEED_LOAD_OPTIONAL)
  return missing;
}

void load_extension_functions(VkInstance instance, Functions* table) {
  const auto load = [&](const char* name) { return table->GetInstanceProcAddr(instance, name); };
  HEED_VULKAN_EXTENSION(HEED_LOAD_OPTIONAL)
}

const char* load_device_functions(VkDevice device, Functions* table) {
  const char* missing = nullptr;
  const auto load = [&](const char* name) { return table->GetDeviceProcAddr(device, name); };
  HEED_VULKAN_DEVICE(HEED_LOAD)
  return missing;
}

#undef HEED_LOAD
#undef HEED_LOAD_OPTIONAL

}  // namespace heed::vulkan

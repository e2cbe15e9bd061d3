#include "vulkan/calls/functions.hpp"

namespace heed::vulkan {

// Stores the function that load(name) finds. HEED_LOAD also records the first missing one.
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
  // Label and name functions act on the device, but belong to an instance extension, so all loaders return them for the instance.
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

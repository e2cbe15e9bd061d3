#include "vulkan/functions.hpp"

namespace heed::vulkan {

const char* load_global_functions(PFN_vkGetInstanceProcAddr get, Functions* table) {
  const char* missing = nullptr;
  table->GetInstanceProcAddr = get;
#define HEED_LOAD(name)                                                          \
  table->name = reinterpret_cast<PFN_vk##name>(get(VK_NULL_HANDLE, "vk" #name)); \
  if (table->name == nullptr && missing == nullptr) missing = "vk" #name;
  HEED_VULKAN_GLOBAL(HEED_LOAD)
#undef HEED_LOAD
  return missing;
}

const char* load_instance_functions(VkInstance instance, bool debug_utils, Functions* table) {
  const char* missing = nullptr;
#define HEED_LOAD(name)                                                                           \
  table->name = reinterpret_cast<PFN_vk##name>(table->GetInstanceProcAddr(instance, "vk" #name)); \
  if (table->name == nullptr && missing == nullptr) missing = "vk" #name;
  HEED_VULKAN_INSTANCE(HEED_LOAD)
#undef HEED_LOAD
  if (!debug_utils) return missing;
  // The label and name calls belong to the device, but as an instance extension they come from here on all
  // loaders.
#define HEED_LOAD(name) table->name = reinterpret_cast<PFN_vk##name>(table->GetInstanceProcAddr(instance, "vk" #name));
  HEED_VULKAN_DEBUG(HEED_LOAD)
#undef HEED_LOAD
  return missing;
}

void load_extension_functions(VkInstance instance, Functions* table) {
#define HEED_LOAD(name) table->name = reinterpret_cast<PFN_vk##name>(table->GetInstanceProcAddr(instance, "vk" #name));
  HEED_VULKAN_EXTENSION(HEED_LOAD)
#undef HEED_LOAD
}

const char* load_device_functions(VkDevice device, Functions* table) {
  const char* missing = nullptr;
#define HEED_LOAD(name)                                                                       \
  table->name = reinterpret_cast<PFN_vk##name>(table->GetDeviceProcAddr(device, "vk" #name)); \
  if (table->name == nullptr && missing == nullptr) missing = "vk" #name;
  HEED_VULKAN_DEVICE(HEED_LOAD)
#undef HEED_LOAD
  return missing;
}

}  // namespace heed::vulkan

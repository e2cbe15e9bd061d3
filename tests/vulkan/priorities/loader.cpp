#include "vulkan/priorities/loader.hpp"

#include <dlfcn.h>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <vector>

#include "vulkan/layer_parts.hpp"

namespace {

using namespace heed::layers;

const char* shown = nullptr;
VkResult answer = VK_SUCCESS;
uint32_t seen = 0;
VkInstance last_instance = VK_NULL_HANDLE;

PFN_vkGetInstanceProcAddr real_instance_proc() {
  static void* const loader = dlopen("libvulkan.so.1", RTLD_NOW | RTLD_LOCAL);
  return loader == nullptr ? nullptr
                           : reinterpret_cast<PFN_vkGetInstanceProcAddr>(dlsym(loader, "vkGetInstanceProcAddr"));
}
template <class F>
F real(const char* name) {
  return reinterpret_cast<F>(real_instance_proc()(last_instance, name));
}

bool is_of_priorities(const char* name) { return std::strstr(name, "_global_priority") != nullptr; }

VKAPI_ATTR VkResult VKAPI_CALL enumerate(VkPhysicalDevice device, const char* layer, uint32_t* count,
                                         VkExtensionProperties* properties) {
  const auto next = real<PFN_vkEnumerateDeviceExtensionProperties>("vkEnumerateDeviceExtensionProperties");
  uint32_t found = 0;
  next(device, layer, &found, nullptr);
  std::vector<VkExtensionProperties> all(found);
  next(device, layer, &found, all.data());
  std::erase_if(all, [](const VkExtensionProperties& one) { return is_of_priorities(one.extensionName); });
  if (shown != nullptr) std::snprintf(all.emplace_back().extensionName, VK_MAX_EXTENSION_NAME_SIZE, "%s", shown);
  if (properties != nullptr) std::copy_n(all.begin(), std::min<size_t>(*count, all.size()), properties);
  *count = static_cast<uint32_t>(all.size());
  return VK_SUCCESS;
}

// The driver below gets neither the extension nor the priority, so that it need not have them.
VKAPI_ATTR VkResult VKAPI_CALL create(VkPhysicalDevice physical, const VkDeviceCreateInfo* info,
                                      const VkAllocationCallbacks* allocator, VkDevice* device) {
  VkDeviceQueueCreateInfo queue = info->pQueueCreateInfos[0];
  const auto* low = static_cast<const VkDeviceQueueGlobalPriorityCreateInfoKHR*>(queue.pNext);
  const bool has = low != nullptr && low->sType == VK_STRUCTURE_TYPE_DEVICE_QUEUE_GLOBAL_PRIORITY_CREATE_INFO_KHR;
  std::vector<const char*> extensions(info->ppEnabledExtensionNames,
                                      info->ppEnabledExtensionNames + info->enabledExtensionCount);
  const bool enabled = shown != nullptr &&
                       std::erase_if(extensions, [](const char* name) { return std::strcmp(name, shown) == 0; }) == 1;
  seen = has != enabled ? UINT32_MAX : has ? static_cast<uint32_t>(low->globalPriority) : 0;
  if (has && answer != VK_SUCCESS) return answer;
  queue.pNext = nullptr;
  VkDeviceCreateInfo plain = *info;
  plain.pQueueCreateInfos = &queue;
  plain.enabledExtensionCount = static_cast<uint32_t>(extensions.size());
  plain.ppEnabledExtensionNames = extensions.data();
  return real<PFN_vkCreateDevice>("vkCreateDevice")(physical, &plain, allocator, device);
}

const Entry kEntries[] = {HEED_ENTRY("vkEnumerateDeviceExtensionProperties", enumerate),
                          HEED_ENTRY("vkCreateDevice", create)};

}  // namespace

extern "C" {

HEED_LAYER_EXPORT void heed_pretend_priorities(const char* extension, VkResult result) {
  shown = extension;
  answer = result;
}

HEED_LAYER_EXPORT uint32_t heed_seen_priority() { return seen; }

HEED_LAYER_EXPORT PFN_vkVoidFunction VKAPI_CALL vkGetInstanceProcAddr(VkInstance instance, const char* name) {
  const PFN_vkGetInstanceProcAddr get = real_instance_proc();
  if (get == nullptr) return nullptr;
  if (instance != VK_NULL_HANDLE) last_instance = instance;
  const PFN_vkVoidFunction own = instance == VK_NULL_HANDLE ? nullptr : find(kEntries, name);
  return own != nullptr ? own : get(instance, name);
}
}

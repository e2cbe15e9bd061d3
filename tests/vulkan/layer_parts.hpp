// Helpers for the tests' Vulkan layers: how the loader passes the next layer, and how it finds a layer's functions.
#pragma once

#include <vulkan/vk_layer.h>

#include <cstddef>
#include <cstring>

namespace heed::layers {

// The first word of an object, which is the key of the loader's dispatch.
inline void* key_of(const void* dispatchable) { return *static_cast<void* const*>(dispatchable); }

// The structure in a create call's chain by which the loader passes the next layer.
template <class Info>
Info* find_link(const void* chain, VkStructureType type, VkLayerFunction function = VK_LAYER_LINK_INFO) {
  for (auto* next = static_cast<const VkBaseInStructure*>(chain); next != nullptr; next = next->pNext) {
    auto* info = reinterpret_cast<Info*>(const_cast<VkBaseInStructure*>(next));
    if (next->sType == type && info->function == function) return info;
  }
  return nullptr;
}

struct Entry {
  const char* name;
  PFN_vkVoidFunction function;
};
#define HEED_ENTRY(name, function) {name, reinterpret_cast<PFN_vkVoidFunction>(function)}

template <size_t kCount>
PFN_vkVoidFunction find(const Entry (&entries)[kCount], const char* name) {
  for (const Entry& entry : entries)
    if (std::strcmp(entry.name, name) == 0) return entry.function;
  return nullptr;
}

// Answers the loader's first call, vkNegotiateLoaderLayerInterfaceVersion.
inline VkResult negotiate(VkNegotiateLayerInterface* interface, PFN_vkGetInstanceProcAddr get_instance_proc,
                          PFN_vkGetDeviceProcAddr get_device_proc) {
  if (interface->loaderLayerInterfaceVersion < 2) return VK_ERROR_INITIALIZATION_FAILED;
  interface->loaderLayerInterfaceVersion = 2;
  interface->pfnGetInstanceProcAddr = get_instance_proc;
  interface->pfnGetDeviceProcAddr = get_device_proc;
  interface->pfnGetPhysicalDeviceProcAddr = nullptr;
  return VK_SUCCESS;
}

}  // namespace heed::layers

#ifdef _WIN32
#define HEED_LAYER_EXPORT __declspec(dllexport)
#else
#define HEED_LAYER_EXPORT __attribute__((visibility("default")))
#endif

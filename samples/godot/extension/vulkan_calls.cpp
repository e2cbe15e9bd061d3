#include "vulkan_calls.hpp"

#ifdef _WIN32
extern "C" __declspec(dllimport) void* __stdcall LoadLibraryA(const char*);
extern "C" __declspec(dllimport) void* __stdcall GetProcAddress(void*, const char*);
#else
#include <dlfcn.h>
#endif

namespace {

PFN_vkGetInstanceProcAddr find_entry() {
#ifdef _WIN32
  void* library = LoadLibraryA("vulkan-1.dll");
  return library == nullptr
             ? nullptr
             : reinterpret_cast<PFN_vkGetInstanceProcAddr>(GetProcAddress(library, "vkGetInstanceProcAddr"));
#else
  constexpr const char* kFiles[] = {"libvulkan.so.1", "libvulkan.so", "libvulkan.1.dylib"};
  for (const char* file : kFiles)
    if (void* library = dlopen(file, RTLD_NOW | RTLD_LOCAL); library != nullptr)
      return reinterpret_cast<PFN_vkGetInstanceProcAddr>(dlsym(library, "vkGetInstanceProcAddr"));
  return nullptr;
#endif
}

}  // namespace

bool load_vulkan_calls(VkInstance instance, VkDevice device, VulkanCalls* calls) {
  static const PFN_vkGetInstanceProcAddr entry = find_entry();
  if (entry == nullptr) return false;
  bool is_complete = true;
#define HEED_GODOT_LOAD_INSTANCE(name)                                       \
  calls->name = reinterpret_cast<PFN_vk##name>(entry(instance, "vk" #name)); \
  is_complete = is_complete && calls->name != nullptr;
  HEED_GODOT_INSTANCE_CALLS(HEED_GODOT_LOAD_INSTANCE)
#undef HEED_GODOT_LOAD_INSTANCE
  if (!is_complete) return false;
#define HEED_GODOT_LOAD_DEVICE(name)                                                          \
  calls->name = reinterpret_cast<PFN_vk##name>(calls->GetDeviceProcAddr(device, "vk" #name)); \
  is_complete = is_complete && calls->name != nullptr;
  HEED_GODOT_DEVICE_CALLS(HEED_GODOT_LOAD_DEVICE)
#undef HEED_GODOT_LOAD_DEVICE
  return is_complete;
}

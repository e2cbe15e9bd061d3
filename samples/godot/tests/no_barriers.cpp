// A planted fault for test.sh, which preloads this library: it disables heed's barriers in Godot. Synchronization validation must report
// that, or its silence otherwise would mean nothing. Godot's own barriers stay.
#include <vulkan/vulkan_core.h>

#include <dlfcn.h>

#include <cstring>

namespace {

PFN_vkGetInstanceProcAddr instance_calls = nullptr;
PFN_vkGetDeviceProcAddr device_calls = nullptr;

VKAPI_ATTR void VKAPI_CALL no_barrier(VkCommandBuffer, VkPipelineStageFlags, VkPipelineStageFlags, VkDependencyFlags,
                                      uint32_t, const VkMemoryBarrier*, uint32_t, const VkBufferMemoryBarrier*,
                                      uint32_t, const VkImageMemoryBarrier*) {}

VKAPI_ATTR PFN_vkVoidFunction VKAPI_CALL device_call(VkDevice device, const char* name) {
  if (std::strcmp(name, "vkCmdPipelineBarrier") == 0) return reinterpret_cast<PFN_vkVoidFunction>(no_barrier);
  return device_calls(device, name);
}

VKAPI_ATTR PFN_vkVoidFunction VKAPI_CALL instance_call(VkInstance instance, const char* name) {
  if (std::strcmp(name, "vkCmdPipelineBarrier") == 0) return reinterpret_cast<PFN_vkVoidFunction>(no_barrier);
  const PFN_vkVoidFunction found = instance_calls(instance, name);
  if (found == nullptr || std::strcmp(name, "vkGetDeviceProcAddr") != 0) return found;
  device_calls = reinterpret_cast<PFN_vkGetDeviceProcAddr>(found);
  return reinterpret_cast<PFN_vkVoidFunction>(device_call);
}

}  // namespace

// These two replace the system's functions. Godot opens extensions so that they find the system's functions first; this function makes heed
// find the replacements.
namespace {
template <typename F>
F next(const char* name) {
  void* newer = dlvsym(RTLD_NEXT, name, "GLIBC_2.34");
  return reinterpret_cast<F>(newer != nullptr ? newer : dlvsym(RTLD_NEXT, name, "GLIBC_2.2.5"));
}
}  // namespace

extern "C" __attribute__((visibility("default"))) void* dlopen(const char* file, int mode) noexcept {
  static const auto open = next<void* (*)(const char*, int)>("dlopen");
  return open(file, mode & ~RTLD_DEEPBIND);
}

extern "C" __attribute__((visibility("default"))) void* dlsym(void* library, const char* name) noexcept {
  static const auto find = next<void* (*)(void*, const char*)>("dlsym");
  void* found = find(library, name);
  Dl_info caller{};
  if (std::strcmp(name, "vkGetInstanceProcAddr") != 0 || dladdr(__builtin_return_address(0), &caller) == 0 ||
      std::strstr(caller.dli_fname, "heed_godot") == nullptr)
    return found;
  instance_calls = reinterpret_cast<PFN_vkGetInstanceProcAddr>(found);
  return reinterpret_cast<void*>(instance_call);
}

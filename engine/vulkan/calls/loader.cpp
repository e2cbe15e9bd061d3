#include "vulkan/calls/loader.hpp"

#include <string>

#include "base/test_setting.hpp"

#if defined(_WIN32)
// Two declarations instead of windows.h and its macros.
extern "C" __declspec(dllimport) void* __stdcall LoadLibraryA(const char*);
extern "C" __declspec(dllimport) void(__stdcall* __stdcall GetProcAddress(void*, const char*))();
#else
#include <dlfcn.h>
#endif

namespace heed::vulkan {
namespace {

// Libraries stay loaded, since drivers start threads and register exit handlers that must outlive them.
PFN_vkGetInstanceProcAddr load_from(const char* file) {
#if defined(_WIN32)
  void* library = LoadLibraryA(file);
  if (library == nullptr) return nullptr;
  return reinterpret_cast<PFN_vkGetInstanceProcAddr>(GetProcAddress(library, "vkGetInstanceProcAddr"));
#else
  void* library = dlopen(file, RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) return nullptr;
  return reinterpret_cast<PFN_vkGetInstanceProcAddr>(dlsym(library, "vkGetInstanceProcAddr"));
#endif
}

}  // namespace

PFN_vkGetInstanceProcAddr find_loader(std::string_view chosen) {
  if (chosen.empty()) chosen = test_setting("HEED_VULKAN_LOADER");
  if (!chosen.empty()) return load_from(std::string(chosen).c_str());
#if defined(_WIN32)
  static constexpr const char* kFiles[] = {"vulkan-1.dll"};
#elif defined(__APPLE__)
  static constexpr const char* kFiles[] = {"libvulkan.dylib", "libvulkan.1.dylib", "libMoltenVK.dylib"};
#else
  static constexpr const char* kFiles[] = {"libvulkan.so.1", "libvulkan.so"};
#endif
  for (const char* file : kFiles) {
    if (PFN_vkGetInstanceProcAddr get = load_from(file)) return get;
  }
  return nullptr;
}

}  // namespace heed::vulkan

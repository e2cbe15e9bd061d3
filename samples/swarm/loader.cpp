#include "loader.hpp"

#include <cstdlib>

#if defined(_WIN32)
// Declared here, since windows.h would define its macros.
extern "C" __declspec(dllimport) void* __stdcall LoadLibraryA(const char*);
extern "C" __declspec(dllimport) void(__stdcall* __stdcall GetProcAddress(void*, const char*))();
#else
#include <dlfcn.h>
#endif

namespace swarm {

PFN_vkGetInstanceProcAddr find_loader() {
  const char* chosen = std::getenv("HEED_VULKAN_LOADER");
#if defined(_WIN32)
  void* library = LoadLibraryA(chosen ? chosen : "vulkan-1.dll");
  return library ? reinterpret_cast<PFN_vkGetInstanceProcAddr>(GetProcAddress(library, "vkGetInstanceProcAddr"))
                 : nullptr;
#else
  void* library = dlopen(chosen ? chosen : "libvulkan.so.1", RTLD_NOW | RTLD_LOCAL);
  return library ? reinterpret_cast<PFN_vkGetInstanceProcAddr>(dlsym(library, "vkGetInstanceProcAddr")) : nullptr;
#endif
}

}  // namespace swarm

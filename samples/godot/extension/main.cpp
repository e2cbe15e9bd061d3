// Where Godot enters the extension.
#include <cstdio>

#include "device.hpp"
#include "speaker.hpp"
#include "worker.hpp"

namespace {

void initialize(void*, GDExtensionInitializationLevel level) {
  if (level != GDEXTENSION_INITIALIZATION_SCENE) return;
  godot::register_class(HeedDevice::description());
  godot::register_class(HeedSpeaker::description());
}

void deinitialize(void*, GDExtensionInitializationLevel level) {
  if (level != GDEXTENSION_INITIALIZATION_SCENE) return;
  Worker::wait_for_all();
  godot::unregister_class(HeedSpeaker::description());
  godot::unregister_class(HeedDevice::description());
}

}  // namespace

extern "C"
#ifdef _WIN32
    __declspec(dllexport)
#else
    __attribute__((visibility("default")))
#endif
    GDExtensionBool
    heed_godot_init(GDExtensionInterfaceGetProcAddress get, GDExtensionClassLibraryPtr library,
                    GDExtensionInitialization* initialization) {
  const char* missing = nullptr;
  if (!godot::load(get, library, &missing)) {
    std::fprintf(stderr, "heed: this Godot has no %s; Godot 4.4 or later is needed\n", missing);
    return 0;
  }
  *initialization = {GDEXTENSION_INITIALIZATION_SCENE, nullptr, initialize, deinitialize};
  return 1;
}

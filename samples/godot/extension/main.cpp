// The entry point that Godot calls.
#include <cstdio>
#include <span>

#include "attention.hpp"
#include "device.hpp"
#include "documentation.hpp"
#include "listener.hpp"
#include "model.hpp"
#include "speaker.hpp"
#include "text_encoder.hpp"
#include "worker.hpp"

namespace {

// Classes come before others whose methods have them as arguments.
std::span<const godot::Class* const> classes() {
  static const godot::Class* const all[] = {&HeedDevice::description(),  &HeedAttention::description(),
                                            &HeedSpeaker::description(), &HeedTextEncoder::description(),
                                            &HeedModel::description(),   &HeedListener::description()};
  return all;
}

void initialize(void*, GDExtensionInitializationLevel level) {
  if (level == GDEXTENSION_INITIALIZATION_EDITOR)
    for (const char* xml : documentation()) godot::load_documentation(xml);
  if (level != GDEXTENSION_INITIALIZATION_SCENE) return;
  for (const godot::Class* one : classes()) godot::register_class(*one);
}

void deinitialize(void*, GDExtensionInitializationLevel level) {
  if (level != GDEXTENSION_INITIALIZATION_SCENE) return;
  Gpu::begin_to_close();
  Worker::end_all();
  Gpu::close_all();
  for (const godot::Class* one : classes()) godot::unregister_class(*one);
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

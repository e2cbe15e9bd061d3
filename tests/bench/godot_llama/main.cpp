// The entry point that Godot calls.
#include <cstdio>

#include "llama_speaker.hpp"

namespace {

void initialize(void*, GDExtensionInitializationLevel level) {
  if (level == GDEXTENSION_INITIALIZATION_SCENE) godot::register_class(LlamaSpeaker::description());
}

void deinitialize(void*, GDExtensionInitializationLevel level) {
  if (level == GDEXTENSION_INITIALIZATION_SCENE) godot::unregister_class(LlamaSpeaker::description());
}

}  // namespace

extern "C" __attribute__((visibility("default"))) GDExtensionBool
llama_godot_init(GDExtensionInterfaceGetProcAddress get, GDExtensionClassLibraryPtr library,
                 GDExtensionInitialization* initialization) {
  const char* missing = nullptr;
  if (!godot::load(get, library, &missing)) {
    std::fprintf(stderr, "LlamaSpeaker: this Godot has no %s\n", missing);
    return 0;
  }
  *initialization = {GDEXTENSION_INITIALIZATION_SCENE, nullptr, initialize, deinitialize};
  return 1;
}

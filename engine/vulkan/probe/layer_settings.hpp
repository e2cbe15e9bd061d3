// Settings for the Khronos validation layer, by VK_EXT_layer_settings. Since 2024 the layer's synchronization validation considers accesses
// of shaders only if a setting enables it; otherwise it does not report a missing barrier between two dispatches. Debian 12's headers and
// layer are older than that extension.
#pragma once

#include "vulkan/calls/functions.hpp"
#include "vulkan/probe/features.hpp"

namespace heed::vulkan {

class LayerSettings {
 public:
  static constexpr const char* kExtension = "VK_EXT_layer_settings";
  LayerSettings() = default;
  LayerSettings(const LayerSettings&) = delete;
  LayerSettings& operator=(const LayerSettings&) = delete;
  // Whether the layer supports settings. Older layers always consider shader accesses.
  static bool are_taken(std::span<const VkExtensionProperties> of_layer) { return contains(of_layer, kExtension); }
  // Puts the settings before `next` in VkInstanceCreateInfo's chain. Valid as long as this object.
  const void* chain(const void* next) {
    info_.next = next;
    return &info_;
  }

 private:
  // These two have the layout of VkLayerSettingEXT and VkLayerSettingsCreateInfoEXT.
  struct Setting {
    const char *layer, *name;
    int32_t type;  // 0: VkBool32
    uint32_t count;
    const void* values;
  };
  struct Info {
    VkStructureType type;
    const void* next;
    uint32_t count;
    const Setting* settings;
  };
  const VkBool32 yes_ = VK_TRUE;
  const Setting shader_accesses_ = {"VK_LAYER_KHRONOS_validation", "syncval_shader_accesses_heuristic", 0, 1, &yes_};
  Info info_ = {static_cast<VkStructureType>(1000496000), nullptr, 1, &shader_accesses_};
};

}  // namespace heed::vulkan

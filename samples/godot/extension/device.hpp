// HeedDevice: where the classes of the extension compute. Today that is the CPU, on threads of heed's own.
#pragma once

#include <heed/device.hpp>

#include "godot.hpp"

class HeedDevice final : public godot::Instance {
 public:
  static const godot::Class& description();
  // Null: the object is no HeedDevice.
  static HeedDevice* of(GDExtensionObjectPtr object);

  explicit HeedDevice(GDExtensionObjectPtr object) : Instance(object) {}
  int64_t open();
  const heed::Device& device() const { return device_; }

 private:
  heed::Device device_;
};

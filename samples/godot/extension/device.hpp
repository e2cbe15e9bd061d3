// HeedDevice: where the classes of the extension compute. Today that is the CPU, on threads of heed's own.
#pragma once

#include <cstdint>

#include <heed/device.hpp>

#include "godot.hpp"

// How many threads compute on a machine with so many processors: all but the one that frames need.
uint32_t computing_threads(int64_t asked, uint32_t processors);

class HeedDevice final : public godot::Instance {
 public:
  static const godot::Class& description();
  // Null: the object is no HeedDevice.
  static HeedDevice* of(GDExtensionObjectPtr object);

  explicit HeedDevice(GDExtensionObjectPtr object) : Instance(object) {}
  int64_t open();
  const heed::Device& device() const { return device_; }
  int64_t threads() const { return threads_; }
  void set_threads(int64_t threads);

 private:
  heed::Device device_;
  int64_t threads_ = 0;
};

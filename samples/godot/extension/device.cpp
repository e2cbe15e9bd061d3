#include "device.hpp"

HeedDevice* HeedDevice::of(GDExtensionObjectPtr object) { return dynamic_cast<HeedDevice*>(Instance::of(object)); }

int64_t HeedDevice::open() {
  if (device_.valid()) return godot::Ok;
  const heed::Status status = heed::Device::open({.select = "cpu", .log = godot::log()}, &device_);
  if (status == heed::Status::Ok) return godot::Ok;
  godot::error(std::string("HeedDevice.open: the CPU device could not be opened: ") + heed::to_string(status));
  return godot::Failed;
}

const godot::Class& HeedDevice::description() {
  using godot::Kind, godot::Value, godot::Instance;
  static const godot::Class result{
      "HeedDevice",
      "RefCounted",
      [](GDExtensionObjectPtr object) -> Instance* { return new HeedDevice(object); },
      {{"open",
        {},
        Kind::Int,
        [](Instance& self, const Value*, Value* to) { to->integer = static_cast<HeedDevice&>(self).open(); }},
       {"describe",
        {},
        Kind::Text,
        [](Instance& self, const Value*, Value* to) {
          const heed::Device& device = static_cast<HeedDevice&>(self).device();
          to->text = device.valid() ? device.info().word + " (" + device.info().name + ")" : "";
        }}},
      {}};
  return result;
}

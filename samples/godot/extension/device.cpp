#include "device.hpp"

#include <algorithm>
#include <thread>

uint32_t computing_threads(int64_t asked, uint32_t processors) {
  if (asked > 0) return static_cast<uint32_t>(std::min<int64_t>(asked, UINT32_MAX));
  return std::max(processors, 2u) - 1;
}

HeedDevice* HeedDevice::of(GDExtensionObjectPtr object) { return dynamic_cast<HeedDevice*>(Instance::of(object)); }

int64_t HeedDevice::open() {
  if (device_.valid()) return godot::Ok;
  const heed::Status status =
      heed::Device::open({.select = "cpu",
                          .log = godot::log(),
                          .threads = computing_threads(threads_, std::thread::hardware_concurrency())},
                         &device_);
  if (status == heed::Status::Ok) return godot::Ok;
  godot::error(std::string("HeedDevice.open: the CPU device could not be opened: ") + heed::to_string(status));
  return godot::Failed;
}

void HeedDevice::set_threads(int64_t threads) {
  if (threads < 0)
    godot::error("HeedDevice.threads: must be 0 or more");
  else if (device_.valid())
    godot::error("HeedDevice.threads: the device is open already");
  else
    threads_ = threads;
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
        }},
       {"set_threads",
        {{"threads", Kind::Int}},
        Kind::None,
        [](Instance& self, const Value* with, Value*) { static_cast<HeedDevice&>(self).set_threads(with[0].integer); }},
       {"get_threads",
        {},
        Kind::Int,
        [](Instance& self, const Value*, Value* to) { to->integer = static_cast<HeedDevice&>(self).threads(); }}},
      {},
      {{"threads", Kind::Int, "set_threads", "get_threads"}}};
  return result;
}

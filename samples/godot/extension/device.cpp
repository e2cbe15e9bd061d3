#include "device.hpp"

#include <algorithm>
#include <cstring>
#include <thread>
#include <utility>

namespace {

bool is_buffer_size(const char* method, int64_t bytes) {
  const bool is_one = bytes >= 4 && bytes % 4 == 0 && bytes <= int64_t{UINT32_MAX};
  if (!is_one)
    godot::error(std::string("HeedDevice.") + method +
                 ": a buffer has 4 bytes or a multiple of that, below 4 GiB; asked for " + std::to_string(bytes));
  return is_one;
}

}  // namespace

uint32_t computing_threads(int64_t asked, uint32_t processors) {
  if (asked > 0) return static_cast<uint32_t>(std::min<int64_t>(asked, UINT32_MAX));
  return std::max(processors, 2u) - 1;
}

HeedDevice* HeedDevice::opened(godot::Object object, const char* caller) {
  auto* device = dynamic_cast<HeedDevice*>(Instance::of(object));
  if (device != nullptr && device->is_open()) return device;
  godot::error(std::string(caller) + ": the device must be a HeedDevice whose open() returned OK");
  return nullptr;
}

bool HeedDevice::can_serve_models(const char* caller) const {
  if (!gpu_ || (!gpu_->is_local() && gpu_->is_alive())) return true;
  godot::error(std::string(caller) + ": " +
               (gpu_->is_local() ? "a model needs the device of open() or open_cpu(), not a local RenderingDevice"
                                 : gpu_->problem()));
  return false;
}

HeedDevice::~HeedDevice() {
  if (gpu_) (void)gpu_->is_alive();
}

bool HeedDevice::refuse_open(const char* method) const {
  if (!is_open()) return false;
  godot::error(std::string("HeedDevice.") + method +
               ": the device is open already; make another one, or call close() first");
  return true;
}

godot::Error HeedDevice::open() {
  if (is_open()) return godot::Error::Ok;
  std::string why;
  gpu_ = Gpu::of(Gpu::main_device(), &why);
  if (gpu_) return godot::Error::Ok;
  const godot::Error error = open_cpu();
  reason_ = "The CPU computes, since " + why + ".";
  return error;
}

godot::Error HeedDevice::open_cpu() {
  if (refuse_open("open_cpu")) return godot::Error::Busy;
  const heed::Status status =
      heed::Device::open({.select = "cpu",
                          .log = godot::log(),
                          .threads = computing_threads(threads_, std::thread::hardware_concurrency())},
                         &cpu_);
  reason_ = "The CPU was asked for.";
  if (status == heed::Status::Ok) return godot::Error::Ok;
  godot::error(std::string("HeedDevice.open_cpu: the CPU device could not be opened: ") + heed::to_string(status));
  return godot::Error::Failed;
}

godot::Error HeedDevice::open_on(godot::Object rendering_device) {
  if (refuse_open("open_on")) return godot::Error::Busy;
  gpu_ = Gpu::of(rendering_device, &reason_);
  if (gpu_) return godot::Error::Ok;
  godot::error("HeedDevice.open_on: " + reason_ + "; open() falls back to the CPU");
  return godot::Error::Unavailable;
}

void HeedDevice::close() {
  if (gpu_) (void)gpu_->is_alive();
  gpu_.reset();
  cpu_ = {};
  reason_.clear();
}

bool HeedDevice::is_lost() { return gpu_ && !gpu_->is_alive(); }

std::string HeedDevice::describe() const {
  if (!is_open()) return "";
  const heed::DeviceInfo& info = (gpu_ ? gpu_->device() : cpu_).info();
  return info.word + " (" + info.name + ")";
}

bool HeedDevice::run_on_gpu(const char* method, const std::function<void(Gpu&)>& function) {
  const std::string caller = std::string("HeedDevice.") + method + ": ";
  if (!gpu_)
    godot::error(caller + "buffers are the GPU's, and this device is " +
                 (is_open() ? "the CPU: see is_gpu()" : "not open"));
  else if (!gpu_->is_alive() || !gpu_->run([&] { function(*gpu_); }))
    godot::error(caller + gpu_->refusal());
  else
    return true;
  return false;
}

godot::Rid HeedDevice::create(const char* method, const godot::Bytes& bytes) {
  godot::Rid buffer;
  if (run_on_gpu(method, [&](Gpu& gpu) { buffer = gpu.create_buffer(bytes); }) && buffer.id == 0)
    godot::error(std::string("HeedDevice.") + method + ": Godot made no buffer of " + std::to_string(bytes.size()) +
                 " bytes");
  return buffer;
}

godot::Rid HeedDevice::create_buffer(int64_t bytes) {
  if (!is_buffer_size("create_buffer", bytes)) return {};
  return create("create_buffer", godot::Bytes(static_cast<size_t>(bytes)));
}

godot::Rid HeedDevice::create_buffer_from(const godot::Floats& floats) {
  if (!is_buffer_size("create_buffer_from", static_cast<int64_t>(floats.size() * sizeof(float)))) return {};
  godot::Bytes bytes(floats.size() * sizeof(float));
  std::memcpy(bytes.data(), floats.data(), bytes.size());
  return create("create_buffer_from", bytes);
}

godot::Floats HeedDevice::read_buffer(godot::Rid buffer) {
  godot::Bytes bytes;
  (void)run_on_gpu("read_buffer", [&](Gpu& gpu) { bytes = gpu.read_buffer(buffer); });
  godot::Floats floats(bytes.size() / sizeof(float));
  if (!floats.empty()) std::memcpy(floats.data(), bytes.data(), floats.size() * sizeof(float));
  return floats;
}

void HeedDevice::free_buffer(godot::Rid buffer) {
  (void)run_on_gpu("free_buffer", [&](Gpu& gpu) { gpu.free_buffer(buffer); });
}

void HeedDevice::simulate_loss() {
  if (gpu_)
    gpu_->simulate_loss();
  else
    godot::error("HeedDevice.simulate_loss: only a GPU can be lost: see is_gpu()");
}

void HeedDevice::set_threads(int64_t threads) {
  if (threads < 0)
    godot::error("HeedDevice.threads: must be 0 or more");
  else if (is_open())
    godot::error("HeedDevice.threads: the device is open already");
  else
    threads_ = threads;
}

const godot::Class& HeedDevice::description() {
  using godot::method;
  static const godot::Class result{
      "HeedDevice",
      "RefCounted",
      godot::create<HeedDevice>,
      {method<&HeedDevice::open>("open"), method<&HeedDevice::open_cpu>("open_cpu"),
       method<&HeedDevice::open_on>("open_on", {{"rendering_device", godot::Kind::Object, "RenderingDevice"}}),
       method<&HeedDevice::close>("close"), method<&HeedDevice::is_open>("is_open"),
       method<&HeedDevice::is_gpu>("is_gpu"), method<&HeedDevice::is_software>("is_software"),
       method<&HeedDevice::is_lost>("is_lost"), method<&HeedDevice::describe>("describe"),
       method<&HeedDevice::reason>("get_reason"), method<&HeedDevice::create_buffer>("create_buffer", {{"bytes"}}),
       method<&HeedDevice::create_buffer_from>("create_buffer_from", {{"floats"}}),
       method<&HeedDevice::read_buffer>("read_buffer", {{"buffer"}}),
       method<&HeedDevice::free_buffer>("free_buffer", {{"buffer"}}),
       method<&HeedDevice::simulate_loss>("simulate_loss")},
      {},
      {godot::property<&HeedDevice::set_threads, &HeedDevice::threads>("threads", "set_threads", "get_threads")}};
  return result;
}

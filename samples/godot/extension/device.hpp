// HeedDevice: the device for the extension's classes. It is Godot's GPU if heed can use it, else the CPU, with heed's own threads.
#pragma once

#include <heed/device.hpp>

#include <cstdint>
#include <memory>
#include <string>

#include "godot.hpp"
#include "gpu.hpp"

// How many threads compute on a machine with so many processors: all but the one for frames.
uint32_t computing_threads(int64_t asked, uint32_t processors);

class HeedDevice final : public godot::Instance {
 public:
  static const godot::Class& description();
  // Returns null, and prints an error of this class's method, if the object is no HeedDevice or is not open.
  static HeedDevice* opened(godot::Object object, const char* caller);
  // Returns false, and prints an error, if threads of models cannot use it.
  bool can_serve_models(const char* caller) const;

  explicit HeedDevice(godot::Object object) : Instance(object) {}
  ~HeedDevice() override;

  godot::Error open();
  godot::Error open_cpu();
  godot::Error open_on(godot::Object rendering_device);
  void close();
  bool is_open() const { return gpu_ != nullptr || cpu_.valid(); }
  bool is_gpu() const { return gpu_ != nullptr; }
  bool is_software() const { return gpu_ == nullptr || gpu_->is_software(); }
  bool is_lost();
  std::string describe() const;
  std::string reason() const { return reason_; }

  godot::Rid create_buffer(int64_t bytes);
  godot::Rid create_buffer_from(const godot::Floats& floats);
  godot::Floats read_buffer(godot::Rid buffer);
  void free_buffer(godot::Rid buffer);
  void simulate_loss();

  int64_t threads() const { return threads_; }
  void set_threads(int64_t threads);

  // Null if the device computes on the CPU; then `cpu` is its heed::Device.
  const std::shared_ptr<Gpu>& gpu() const { return gpu_; }
  const heed::Device& cpu() const { return cpu_; }

 private:
  bool refuse_open(const char* method) const;
  bool run_on_gpu(const char* method, const std::function<void(Gpu&)>& function);
  godot::Rid create(const char* method, const godot::Bytes& bytes);

  std::shared_ptr<Gpu> gpu_;
  heed::Device cpu_;
  std::string reason_;
  int64_t threads_ = 0;
};

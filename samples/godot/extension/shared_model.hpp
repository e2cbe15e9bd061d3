// SharedModel: a model that nodes share, with a worker that makes all of heed's calls for it, so that none of them delays a frame.
#pragma once

#include <heed/device.hpp>

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <tuple>
#include <utility>

#include "gpu.hpp"
#include "processor.hpp"
#include "worker.hpp"

class SharedModel : public std::enable_shared_from_this<SharedModel> {
 public:
  virtual ~SharedModel() = default;
  SharedModel(const SharedModel&) = delete;
  SharedModel& operator=(const SharedModel&) = delete;

  // Call once in each frame while a node has work, from any thread. 0: no limit. On the GPU, the frame gets a part of a step of about so
  // many milliseconds. The CPU does not split steps: there they may take so much in each frame from other threads (ProcessorShare), and a
  // step that takes more makes later frames wait.
  void allow(int64_t frame, double budget_ms);
  // Call once for each `of`: a node releases the model, of which it must hold no other reference. The worker holds it last, and destroys it
  // on its own thread.
  static void leave(std::shared_ptr<SharedModel> model);

 protected:
  // `gpu` is null if the CPU computes.
  SharedModel(std::shared_ptr<Gpu> gpu, const heed::Device& cpu, std::string path);

  // The model that another node holds already, or a new one, Model(gpu, cpu, path, rest...), which its worker begins to open.
  template <class Model, class... Rest>
  static std::shared_ptr<Model> find(std::shared_ptr<Gpu> gpu, const heed::Device& cpu, const std::string& path,
                                     Rest... rest);

  // All of these run on the worker's thread.
  virtual heed::Status open_model() = 0;
  virtual void step_in_frame(double budget_ms) = 0;  // on the GPU
  virtual void go_on() = 0;                          // on the CPU: steps that wait for time may continue
  bool must_wait() const { return gpu_ != nullptr || (is_limited_ && allowed_ms_ <= 0); }
  void pay(const ProcessorShare& share) { allowed_ms_ -= share.took_ms(); }
  // What a status means for the caller, as a part of a sentence.
  std::string why(heed::Status status) const;
  std::string why_not_open() const;
  // Each destructor calls it first: before destroying an object on the device, check whether the device is alive.
  void look_at_device() const;

  const std::string path_;
  const std::shared_ptr<Gpu> gpu_;  // declared before the objects on its device
  heed::Device device_;
  heed::Status status_ = heed::Status::NotReady;
  Worker worker_;

 private:
  void open();
  void allow_time(double budget_ms);

  std::atomic<int> nodes_ = 0;
  std::atomic<bool> is_failed_ = false;
  std::atomic<int64_t> frame_ = -1;  // of which time was allowed
  double allowed_ms_ = 0;            // used by the worker only
  bool is_limited_ = false;
};

template <class Model, class... Rest>
std::shared_ptr<Model> SharedModel::find(std::shared_ptr<Gpu> gpu, const heed::Device& cpu, const std::string& path,
                                         Rest... rest) {
  static std::mutex mutex;
  static std::map<std::tuple<const void*, std::string, Rest...>, std::weak_ptr<Model>> models;
  const void* device = gpu ? static_cast<const void*>(gpu.get()) : cpu.impl().get();
  const std::lock_guard lock(mutex);
  std::erase_if(models, [](const auto& known) { return known.second.expired(); });
  std::weak_ptr<Model>& known = models[{device, path, rest...}];
  std::shared_ptr<Model> model = known.lock();
  if (model) ++model->nodes_;
  if (model && !model->is_failed_) return model;
  if (model) --model->nodes_;
  model = std::make_shared<Model>(std::move(gpu), cpu, path, rest...);
  ++model->nodes_;
  known = model;
  model->worker_.post([model] { model->open(); });
  return model;
}

// SharedModel: a model that nodes share, with a worker that makes all of heed's calls for it, so that none of them holds up a frame.
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

  // Once in each frame while a node wants something, from any thread. 0: no limit. On the GPU, the frame gets a part of a step that takes
  // about so many milliseconds. On the CPU, whose steps are not cut, they may take so much in each frame from others that want the
  // processors (ProcessorShare). What a step takes beyond that, it pays by waiting for later frames.
  void allow(int64_t frame, double budget_ms);
  // Once for each `of`: a node lets go of the model, which it must hold by nothing else. The last that holds it is then its worker, on
  // whose thread it is destroyed.
  static void leave(std::shared_ptr<SharedModel> model);

 protected:
  // `gpu` is null where the CPU computes.
  SharedModel(std::shared_ptr<Gpu> gpu, const heed::Device& cpu, std::string path);

  // The one that another node holds already, or a new one, Model(gpu, cpu, path, rest...), that its worker begins to open.
  template <class Model, class... Rest>
  static std::shared_ptr<Model> find(std::shared_ptr<Gpu> gpu, const heed::Device& cpu, const std::string& path,
                                     Rest... rest);

  // All of these on the worker's thread.
  virtual heed::Status open_model() = 0;
  virtual void step_in_frame(double budget_ms) = 0;  // on the GPU
  virtual void go_on() = 0;                          // on the CPU: steps that wait for time may go on
  bool must_wait() const { return gpu_ != nullptr || (is_limited_ && allowed_ms_ <= 0); }
  void pay(const ProcessorShare& share) { allowed_ms_ -= share.took_ms(); }
  // Says what a status means for whoever asked, as a part of a sentence.
  std::string why(heed::Status status) const;
  std::string why_not_open() const;
  // Each destructor calls it first: whoever destroys something that lives on the device asks whether it is there.
  void look_at_device() const;

  const std::string path_;
  const std::shared_ptr<Gpu> gpu_;  // before what lives on its device
  heed::Device device_;
  heed::Status status_ = heed::Status::NotReady;
  Worker worker_;

 private:
  void open();
  void allow_time(double budget_ms);

  std::atomic<int> nodes_ = 0;
  std::atomic<bool> is_failed_ = false;
  std::atomic<int64_t> frame_ = -1;  // of which time was allowed
  double allowed_ms_ = 0;            // the worker's
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

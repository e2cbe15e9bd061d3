// ModelWork: a HeedModel's network on a device, and the run that is under way there. A thread of its own uploads and compiles, and computes
// where that is the CPU; on Godot's GPU each frame submits a part of a run.
#pragma once

#include <heed/heed.hpp>
#include <heed/vulkan_frames.hpp>

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "frame_commands.hpp"
#include "worker.hpp"

// What a file of ONNX holds.
struct ModelFile {
  godot::Bytes bytes;  // of which `model` reads; empty: it has the file open itself
  heed::OnnxModel model;
};

// An input or output of one run.
struct ModelValue {
  std::string name;
  heed::DType dtype = heed::DType::F32;
  std::vector<int64_t> dims;
  godot::Bytes bytes;
  godot::Rid buffer;  // where there is one, it takes the place of `bytes`
  bool is_output = false;
  size_t offset = 0;  // of `bytes` in the memory that the GPU shares
};

struct ModelRun {
  std::vector<ModelValue> values;
  std::vector<heed::ExtentValue> extents;  // their names are the file's
  int64_t frames = 0;                      // in how many it was computed
  double milliseconds = 0;                 // of the GPU, or of a clock
};

class ModelWork : public std::enable_shared_from_this<ModelWork> {
 public:
  struct News {
    bool is_opened = false, is_finished = false;
    std::string problem;
  };

  // `gpu` is null where the CPU computes.
  ModelWork(std::shared_ptr<const ModelFile> file, std::shared_ptr<Gpu> gpu, heed::Device cpu);
  ~ModelWork();
  // Drops the caller's reference, so that the worker or the GPU's thread destroys it, and not the game's thread.
  static void leave(std::shared_ptr<ModelWork> work);

  // Begins to upload and to compile.
  void open(heed::Graph graph);
  bool is_open() const { return is_open_; }
  // False, with the reason: the dims of inputs do not fit. Fills in the dims of outputs. Of a network that is open, as the rest.
  bool fit(const std::vector<heed::OnnxShape>& shapes, ModelRun* run, std::string* why) const;
  // Begins a run, while there is none.
  void begin(ModelRun run);
  // Once in each frame while a run goes on: computes a part of about so many milliseconds. 0: no limit.
  void allow(double budget_ms);
  // Does a whole run, and waits for it. False, with the reason: it broke off.
  bool run_now(ModelRun run, std::string* why);
  // The last run, once it has ended.
  const ModelRun& last() const { return run_; }

  News take();
  const std::shared_ptr<Gpu>& gpu() const { return gpu_; }

 private:
  heed::Device& device() { return gpu_ ? gpu_->device() : cpu_; }
  std::string why(heed::Status status) const;
  void tell(News news);
  void end(heed::Status status, std::string problem);
  heed::Status run_on_arrays();
  void compute(bool is_limited);
  void advance(double budget_ms);
  heed::Status advance_some(double budget_ms, bool* is_over, std::string* problem);
  heed::Status record(double budget_ms, std::string* problem);
  heed::Status place_arrays(std::string* problem);
  heed::Status find_buffers(std::string* problem);
  heed::Status collect();

  const std::shared_ptr<const ModelFile> file_;
  const std::shared_ptr<Gpu> gpu_;
  heed::Device cpu_;
  heed::Graph graph_;  // tells the extents of a run
  heed::Weights weights_;
  heed::Plan plan_;
  std::atomic<bool> is_open_ = false, is_running_ = false;
  std::atomic<bool> is_posted_ = false;  // the worker has the run
  std::atomic<double> owed_ms_ = 0;      // what runs on the CPU took beyond their budgets
  std::mutex mutex_;                     // of the news
  News news_;

  // A run, which is its thread's until it has ended: the worker's or the GPU's.
  ModelRun run_;
  std::unique_ptr<SharedMemory> memory_;
  std::unique_ptr<FrameCommands> commands_;  // waits before the memory goes
  heed::vulkan::Cursor cursor_;
  std::vector<heed::vulkan::Buffer> buffers_;  // of run_.values

  Worker worker_;
};

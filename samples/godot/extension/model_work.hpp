// ModelWork: a HeedModel's network on a device, and its present run. A separate thread uploads and compiles, and computes if the device is
// the CPU; on Godot's GPU each frame submits a part of a run.
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

// The contents of an ONNX file.
struct ModelFile {
  godot::Bytes bytes;  // the bytes that `model` reads; empty: it has the file open itself
  heed::OnnxModel model;
};

// An input or output of one run.
struct ModelValue {
  std::string name;
  heed::DType dtype = heed::DType::F32;
  std::vector<int64_t> dims;
  godot::Bytes bytes;
  godot::Rid buffer;  // if set, it replaces `bytes`
  bool is_output = false;
  size_t offset = 0;  // offset of `bytes` in the memory shared with the GPU
};

struct ModelRun {
  std::vector<ModelValue> values;
  std::vector<heed::ExtentValue> extents;  // under the file's names
  int64_t frames = 0;                      // number of frames of the run
  double milliseconds = 0;                 // GPU or wall time in milliseconds
};

class ModelWork : public std::enable_shared_from_this<ModelWork> {
 public:
  struct News {
    bool is_opened = false, is_finished = false;
    std::string problem;
  };

  // `gpu` is null if the CPU computes.
  ModelWork(std::shared_ptr<const ModelFile> file, std::shared_ptr<Gpu> gpu, heed::Device cpu);
  ~ModelWork();
  // Drops the caller's reference, so that the worker or the GPU's thread destroys it, and not the game's thread.
  static void leave(std::shared_ptr<ModelWork> work);

  // Begins to upload and to compile.
  void open(heed::Graph graph);
  bool is_open() const { return is_open_; }
  // Fills in the dims of outputs. Returns false with the reason if the dims of inputs do not fit. This and the following calls need an open
  // network.
  bool fit(const std::vector<heed::OnnxShape>& shapes, ModelRun* run, std::string* why) const;
  // Begins a run. There must be no other.
  void begin(ModelRun run);
  // Call once in each frame during a run: computes for about so many milliseconds. 0: no limit.
  void allow(double budget_ms);
  // Executes a whole run, and waits for it. Returns false with the reason if it failed.
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
  heed::Graph graph_;  // infers the extents of a run
  heed::Weights weights_;
  heed::Plan plan_;
  std::atomic<bool> is_open_ = false, is_running_ = false;
  std::atomic<bool> is_posted_ = false;  // the worker executes the run
  std::atomic<double> owed_ms_ = 0;      // milliseconds beyond the budgets of runs on the CPU
  std::mutex mutex_;                     // for the results
  News news_;

  // A run. Until it has ended it belongs to its thread: the worker's or the GPU's.
  ModelRun run_;
  std::unique_ptr<SharedMemory> memory_;
  std::unique_ptr<FrameCommands> commands_;  // waits before the memory is freed
  heed::vulkan::Cursor cursor_;
  std::vector<heed::vulkan::Buffer> buffers_;  // index in run_.values

  Worker worker_;
};

// AttentionWork: a HeedAttention's plan, weights and buffers on a device. Pending calls on the GPU keep it alive.
#pragma once

#include <heed/heed.hpp>
#include <heed/vulkan_submitter.hpp>

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "attention_layer.hpp"
#include "gpu.hpp"

struct AttentionWork {
  AttentionWork(const AttentionShape& of_shape, std::shared_ptr<Gpu> on_gpu, heed::Device on_cpu);
  ~AttentionWork();

  // Uploads and compiles; on the GPU's thread if that is required. The log has the reason of a failure.
  heed::Status make(const heed::Graph& graph, const std::vector<AttentionWeight>& weights);
  // Submits a run on the bound buffers, on the GPU's thread. Skips the run while two others are pending.
  void submit(int64_t queries, int64_t keys);
  // Waits for a run on arrays.
  heed::Status run(const std::vector<float>& x, const std::vector<float>& context, std::vector<float>* y);

  int64_t width_of(const std::string& name) const;  // elements in a row of an input or output; 0: none has this name
  int64_t most_rows_of(const std::string& name) const;
  bool has_all_buffers(std::string* missing) const;
  heed::Device& device() { return gpu ? gpu->device() : cpu; }

  const AttentionShape shape;
  const std::shared_ptr<Gpu> gpu;  // null: the CPU computes
  heed::Device cpu;
  std::vector<std::string> names;  // of inputs and outputs
  std::map<std::string, int64_t> widths;
  mutable std::mutex mutex;
  std::map<std::string, godot::Rid> bound;
  std::atomic<int64_t> ended = 0;
  std::atomic<double> milliseconds = 0;

 private:
  void collect();
  void say_once(const std::string& problem);

  heed::Weights uploaded_;
  heed::Plan plan_;
  // Only the GPU's thread uses these.
  heed::vulkan::Submitter submitter_;
  std::vector<uint32_t> under_way_;
  std::string said_;
};

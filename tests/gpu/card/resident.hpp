// A work whose operands lie on the device before it is timed, so that a GPU has nothing to do but the work.
#pragma once

#include <memory>

#include "gpu/card/clock.hpp"
#include "gpu/card/operands.hpp"
#include "vulkan/device/device.hpp"
#include "vulkan/memory/device_buffer.hpp"

namespace heed::gpu_tests {

vulkan::Context& context_of(Device& device);

// Inputs, outputs and weights of a work.
class Operands {
 public:
  Operands(Device& device, const Work& work) : device_(device), work_(work) {}
  // Uploads them.
  Status make();

  const Work& work() const { return work_; }
  const Graph& graph() const { return graph_; }
  const Weights& weights() const { return weights_; }
  std::vector<vulkan::Buffer> bound() const;
  // What the first output holds, as f32; empty if it is of integers.
  Status read_output(std::vector<float>* values);

 private:
  struct Placed {
    Given given;
    std::unique_ptr<vulkan::DeviceBuffer> buffer;
  };
  Status copy(Placed& placed, bool to_device);

  Device& device_;
  const Work& work_;
  Graph graph_;
  Weights weights_;
  std::vector<Placed> inputs_, outputs_;
};

struct BatchTimes {
  std::vector<double> us;  // of one run, the mean of each batch
  std::vector<uint32_t> clocks;
};

// A plan for such operands, recorded once.
class Resident {
 public:
  Resident(Device& device, Operands& operands) : context_(context_of(device)), device_(device), operands_(operands) {}
  ~Resident();
  Resident(const Resident&) = delete;
  Resident& operator=(const Resident&) = delete;

  // Compiles with the kernels that the device chooses now.
  Status prepare();
  std::string kernels() const;
  // Runs for about so many milliseconds, in kBatches of as many runs, which follow each other at once. `clock` is asked in each.
  Status measure(double milliseconds, const CoreClock& clock, BatchTimes* times);

  static constexpr int kBatches = 5;

 private:
  Status record();
  Status batch(uint32_t runs, const CoreClock* clock, BatchTimes* times);

  vulkan::Context& context_;
  Device& device_;
  Operands& operands_;
  Plan plan_;
  State state_;
  VkCommandPool pool_ = VK_NULL_HANDLE;
  VkCommandBuffer commands_[3] = {};  // the first timestamp, a run, the second timestamp
  VkQueryPool queries_ = VK_NULL_HANDLE;
  VkFence fence_ = VK_NULL_HANDLE;
};

}  // namespace heed::gpu_tests

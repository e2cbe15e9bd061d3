// Runs a work whose operands are uploaded before timing, so that only the work itself is timed.
#pragma once

#include <memory>

#include "gpu/card/clock.hpp"
#include "gpu/card/operands.hpp"
#include "vulkan/device/device.hpp"
#include "vulkan/memory/device_buffer.hpp"

namespace heed::gpu_tests {

vulkan::Context& context_of(Device& device);

// The inputs, outputs and weights of a work, in device memory.
class Operands {
 public:
  Operands(Device& device, const Work& work) : device_(device), work_(work) {}
  // Uploads them.
  Status make();

  const Work& work() const { return work_; }
  const Graph& graph() const { return graph_; }
  const Weights& weights() const { return weights_; }
  std::vector<vulkan::Buffer> bound() const;
  // The first output as f32. Empty if it has integers.
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
  std::vector<double> us;  // of one run, as the mean of each batch
  std::vector<uint32_t> clocks;
};

// A plan that uses such operands, recorded once.
class Resident {
 public:
  Resident(Device& device, Operands& operands) : context_(context_of(device)), device_(device), operands_(operands) {}
  ~Resident();
  Resident(const Resident&) = delete;
  Resident& operator=(const Resident&) = delete;

  // Compiles with the kernels that the device chooses at this time.
  Status prepare();
  std::string kernels() const;
  // Runs for about so many milliseconds, in kBatches batches without pauses between runs. Samples `clock` in each batch.
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

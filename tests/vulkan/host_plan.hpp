// Helpers for tests of recording: a small encoder block with extents, which the CPU device runs for comparison and a host's command buffer
// records.
#pragma once

#include "harness/setup.hpp"
#include "vulkan/host_vulkan.hpp"
#include "vulkan/sabotage.hpp"

namespace heed::test {

inline constexpr int64_t kBlockWidth = 24, kBlockHeads = 3, kBlockBatch = 3, kBlockTokens = 37;

// Inputs x [batch, tokens, 24] and padding [batch, tokens]; output y like x. Weights: block_weights().
Graph block_graph(DType dtype = DType::F32);
Tensors block_weights();

// Weights, a constant, scratch, and an embedding of three ids into y [3, 4]: every kind of object that a plan owns.
Graph small_graph();
Tensors small_weights();

// The host's device, with the sabotaged function table.
vulkan::HostDevice sabotaged(const HostVulkan& host, const Sabotage& what = {});

// The name of the first usable Vulkan device; empty, with a WARN, if there is none.
std::string first_gpu();

// One set of inputs at concrete extents, and the CPU device's results for it.
struct Sample {
  int64_t batch = 1, tokens = 1;
  std::vector<float> x, y;
  std::vector<uint8_t> padding;
};
Sample make_sample(Plan& cpu_plan, int64_t batch, int64_t tokens, uint32_t seed);
// Runs a plan of the block on the sample. Returns how its output differs, or an empty string. `y` receives the output.
std::string run_differs(Plan& plan, const Sample& sample, std::vector<float>* y = nullptr);

// The block on the host's device and on the CPU.
struct Block {
  Device device;
  Weights weights;
  Plan plan;
  Plan cpu_plan;
};
Block make_block(const vulkan::HostDevice& host, const CompileOptions& options = {});
Block make_block(const HostVulkan& host, const CompileOptions& options = {});
Plan block_on_cpu(const Log& log = {});

// The offsets of the block's tensors in one host buffer. No descriptor can start at these offsets.
struct Layout {
  VkDeviceSize x = 4 * 3, padding = 65536 + 4 * 5, y = 131072 + 4 * 7;
  static constexpr VkDeviceSize kBytes = 262144;
};
void write_inputs(const HostVulkan::Memory& memory, const Layout& at, const Sample& sample);
std::string outputs_differ(const HostVulkan::Memory& memory, const Layout& at, const Sample& sample);

// The arguments of record for a sample in `memory`. `buffer_list` and `extent_list` are the storage behind `info`.
struct SampleInfo {
  vulkan::Buffer buffer_list[3];
  ExtentValue extent_list[2];
  vulkan::RecordInfo info;
  SampleInfo(const HostVulkan::Memory& memory, const Layout& at, const Sample& sample, uint32_t slot = 0);
  SampleInfo(const SampleInfo&) = delete;
};

}  // namespace heed::test

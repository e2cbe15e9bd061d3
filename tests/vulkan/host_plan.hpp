// What the tests of recording share: a small encoder block with extents, run by the CPU device for comparison
// and recorded into a host's command buffer.
#pragma once

#include <heed/heed.hpp>
#include <map>
#include <string>
#include <vector>

#include "vulkan/host_vulkan.hpp"

namespace heed::test {

inline constexpr int64_t kBlockWidth = 24, kBlockHeads = 3, kBlockBatch = 3, kBlockTokens = 37;

// Inputs x [batch, tokens, 24] and padding [batch, tokens]; output y like x. Weights: block_weights().
Graph block_graph(DType dtype = DType::F32);
std::vector<float> pattern(size_t count, uint32_t seed);  // values in [-1, 1)

// Named tensors with their memory.
struct Tensors {
  std::map<std::string, std::vector<float>> values;
  std::map<std::string, std::vector<int64_t>> shapes;
  void add(const std::string& name, std::vector<int64_t> shape, uint32_t seed);
  std::vector<HostTensor> list() const;  // valid while *this is
};
Tensors block_weights();

// One set of inputs at concrete extents, and what the CPU device makes of it.
struct Sample {
  int64_t batch = 1, tokens = 1;
  std::vector<float> x, y;
  std::vector<uint8_t> padding;
};
Sample make_sample(Plan& cpu_plan, int64_t batch, int64_t tokens, uint32_t seed);

// The block on the host's device and on the CPU.
struct Block {
  Device device;
  Weights weights;
  Plan plan;
  Plan cpu_plan;
};
void make_block(const vulkan::HostDevice& host, const CompileOptions& options, Block* block);

// Where the block's tensors lie in one host buffer, at offsets that no descriptor can start at.
struct Layout {
  VkDeviceSize x = 4 * 3, padding = 65536 + 4 * 5, y = 131072 + 4 * 7;
  static constexpr VkDeviceSize kBytes = 262144;
};
void write_inputs(const HostVulkan::Memory& memory, const Layout& at, const Sample& sample);
std::string outputs_differ(const HostVulkan::Memory& memory, const Layout& at, const Sample& sample);

// What record is given for a sample in `memory`. `buffer_list` and `extent_list` back `info`.
struct SampleInfo {
  vulkan::Buffer buffer_list[3];
  ExtentValue extent_list[2];
  vulkan::RecordInfo info;
  SampleInfo(const HostVulkan::Memory& memory, const Layout& at, const Sample& sample, uint32_t slot = 0);
  SampleInfo(const SampleInfo&) = delete;
};

// |a - b| <= 2e-5 + 1e-4 |b| for every element; the first offender as text, or empty.
std::string difference(const float* got, const std::vector<float>& want);

}  // namespace heed::test

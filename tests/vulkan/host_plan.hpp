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

// |a - b| <= 2e-5 + 1e-4 |b| for every element; the first offender as text, or empty.
std::string difference(const float* got, const std::vector<float>& want);

}  // namespace heed::test

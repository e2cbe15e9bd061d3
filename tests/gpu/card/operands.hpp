// Makes the operands of a work on a device, and computes the median of its times.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "gpu/profile/works.hpp"
#include "graph/graph_data.hpp"

namespace heed::gpu_tests {

// An input or output of a run, in host memory.
struct Given {
  std::string name;
  DType type = DType::F32;
  std::vector<int64_t> shape;
  std::vector<std::byte> bytes;
};

// `extents` has a value for each of the graph's extents, in its order. Tensors that are not filled hold zeros.
Given make_given(const detail::GraphData& graph, const detail::NamedTensor& named, std::span<const int64_t> extents,
                 bool filled);
std::vector<int64_t> values_of(const detail::GraphData& graph, const Work& work);

double median(std::vector<double> all);  // 0 if `values` is empty

}  // namespace heed::gpu_tests

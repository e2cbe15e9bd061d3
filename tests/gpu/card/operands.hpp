// What a work is given on a device, and the middle of what it took.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "gpu/profile/works.hpp"
#include "graph/graph_data.hpp"

namespace heed::gpu_tests {

// A tensor that a run gets from the host, or gives it.
struct Given {
  std::string name;
  DType type = DType::F32;
  std::vector<int64_t> shape;
  std::vector<std::byte> bytes;
};

// `extents`: values of the graph's, in its order. Not filled: zeros.
Given make_given(const detail::GraphData& graph, const detail::NamedTensor& named, std::span<const int64_t> extents,
                 bool filled);
std::vector<int64_t> values_of(const detail::GraphData& graph, const Work& work);

double median(std::vector<double> all);  // 0 of nothing

}  // namespace heed::gpu_tests

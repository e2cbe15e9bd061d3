// Graphs that between them ask a device for every kernel variant, at the shapes that models have.
#pragma once

#include <functional>
#include <heed/heed.hpp>
#include <string>
#include <vector>

namespace heed::gpu_tests {

struct GraphCase {
  std::string name;
  std::function<void(Graph&, DType)> build;
  bool training = false;
  bool both_types = true;  // also with f16 and bf16 storage
};

const std::vector<GraphCase>& graph_cases();

}  // namespace heed::gpu_tests

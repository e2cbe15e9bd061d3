// The weights that a graph asks for, to look them up in files or to tell which ones a checkpoint must have.
//
//   for (const heed::WeightInfo& weight : heed::weights_of(g)) print(weight.name, weight.shape);
#pragma once

#include <string_view>
#include <vector>

#include <heed/export.hpp>
#include <heed/graph.hpp>

namespace heed {

struct WeightInfo {
  std::string_view name;  // valid until the graph changes
  Shape shape;            // of constants
  DType dtype = DType::F32;
};

// In the order of their first declaration.
HEED_API std::vector<WeightInfo> weights_of(const Graph& g);

}  // namespace heed

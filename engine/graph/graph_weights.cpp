#include <heed/graph_weights.hpp>

#include "graph/graph_data.hpp"

namespace heed {

std::vector<WeightInfo> weights_of(const Graph& g) {
  std::vector<WeightInfo> all;
  for (const auto* list : {&g.data().weights, &g.data().kept_weights})
    for (const auto& weight : *list) {
      const Tensor tensor{weight.tensor};
      all.push_back({weight.name, g.shape(tensor), g.dtype(tensor)});
    }
  return all;
}

}  // namespace heed

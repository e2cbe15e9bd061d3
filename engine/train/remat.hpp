// Layers that are recomputed in the backward pass (GradientOptions::remat).
#pragma once

#include <map>
#include <string_view>
#include <vector>

#include "train/backflow.hpp"

namespace heed::train {

class Remat {
 public:
  // Finds the layers among the graph's current nodes.
  Remat(Backflow& flow, std::string_view name);
  // Node number n as its rule reads it: the recomputed copy, if its layer is recomputed. The first call for a layer adds its copies.
  Node seen(size_t n);

 private:
  struct Layer {
    size_t first = 0, last = 0;
    bool is_kept = false;
    size_t copies = 0;  // index of the first copy; 0: not added yet
  };

  void find(std::string_view name);
  bool may_repeat(const Node& node) const;
  void repeat(Layer& layer);
  Tensor copy_of(Tensor t);

  Backflow& flow_;
  std::vector<Layer> layers_;
  std::map<uint32_t, uint32_t> copies_;  // tensors of all layers so far
};

}  // namespace heed::train

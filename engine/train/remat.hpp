// Layers that are computed again on the way back (GradientOptions::remat).
#pragma once

#include <map>
#include <string_view>
#include <vector>

#include "train/backflow.hpp"

namespace heed::train {

class Remat {
 public:
  // Layers among the nodes that the graph has now.
  Remat(Backflow& flow, std::string_view name);
  // Gives node number n as its rule is to see it: a copy, if its layer is computed again. The first call for a layer adds its copies.
  Node seen(size_t n);

 private:
  struct Layer {
    size_t first = 0, last = 0;
    bool is_kept = false;
    size_t copies = 0;  // number of the first copy; 0: there are none yet
  };

  void find(std::string_view name);
  bool may_repeat(const Node& node) const;
  void repeat(Layer& layer);
  Tensor copy_of(Tensor t);

  Backflow& flow_;
  std::vector<Layer> layers_;
  std::map<uint32_t, uint32_t> copies_;  // of tensors of all layers so far
};

}  // namespace heed::train

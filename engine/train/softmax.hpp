#pragma once

#include "train/walk.hpp"

namespace heed::train {

// For a softmax with masked_fill: its weights as if hidden keys were left out, which are 0 for these. Otherwise invalid.
Tensor visible_weights(Walk& walk, const Node& softmax);

}  // namespace heed::train

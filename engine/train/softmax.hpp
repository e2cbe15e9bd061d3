#pragma once

#include "train/backflow.hpp"

namespace heed::train {

// For a softmax with masked_fill: its weights as if hidden keys were left out, which are 0 for these. Otherwise invalid.
Tensor visible_weights(Backflow& flow, const Node& softmax);

}  // namespace heed::train

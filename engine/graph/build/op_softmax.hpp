// Checks of masks, which softmax, attention and mean share.
#pragma once

#include "graph/build/build.hpp"

namespace heed::detail {

// `scores` describes the logits [..., S_q, S_k]. Records a mistake and returns false if a mask, a bias or an attribute does not fit them.
bool check_softmax_inputs(Build& build, const TensorInfo& scores, const Mask& key_padding, const Mask& mask,
                          Tensor bias, const SoftmaxAttrs& attrs);
bool has_meaning(const Mask& mask);  // true also for an absent mask

}  // namespace heed::detail

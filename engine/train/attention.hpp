#pragma once

#include "train/backflow.hpp"

namespace heed::train {

// The gradients of an attention's results; each may be invalid.
struct AttentionUpstream {
  Tensor output, weights, log_sum_exp;
};

// Which gradients are wanted, or those that were made; others are invalid. Keys and values have their own heads, and the bias
// has the shape of the weights, not yet summed to its own.
struct AttentionWanted {
  bool query = false, key = false, value = false, bias = false;
};
struct AttentionGradients {
  Tensor query, key, value, bias;
};

// As products, a softmax that is computed again, and its gradient: all weights [B, H, S_q, S_kv] are in memory. Serves every
// attention.
AttentionGradients composed_attention_backward(Backflow& flow, const Node& attention, const AttentionUpstream& upstream,
                                               const AttentionWanted& wanted);

}  // namespace heed::train

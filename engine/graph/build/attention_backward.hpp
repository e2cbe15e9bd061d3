// The gradients of attention: as one pass, without the weights [.., S_q, S_kv] in memory, or as many.
#pragma once

#include "graph/graph_data.hpp"

namespace heed::detail {

// Whether attention_backward serves the attention `node`: one type for all of it, a constant number of heads of a constant size up to 256, neither lengths
// nor positions nor a softcap, at most two of key padding, mask and bias, and no fill that a log-sum-exp is too coarse for. Keys and values must be
// finite, whether queries see them or not.
bool has_attention_backward(const GraphData& data, const Node& node);

// Which gradients of an attention are wanted.
struct AttentionBackwardWanted {
  bool query = true, key = true, value = true, bias = false;
};
// The gradients of query, key, value and bias that are wanted, of their shapes, from `upstream`, that of `output`, which an attention of the
// graph gives. The attention gets a log-sum-exp if it has none. Dropout is drawn again by the counters of the forward pass.
struct AttentionBackward {
  Tensor query, key, value, bias;
};
AttentionBackward attention_backward(GraphData& data, Tensor output, Tensor upstream,
                                     const AttentionBackwardWanted& wanted = {});

// The gradients of an attention's results; each may be invalid, but not all of them.
struct AttentionUpstream {
  Tensor output, weights, log_sum_exp, scores;
};
// The same as products, a softmax that is computed again, and its gradient: all weights [B, H, S_q, S_kv] are in memory. Serves every
// attention, but for a log-sum-exp beside masked_fill. Gradients have the type of the query; that of the bias has the shape of the
// weights, not yet summed to its own, and is there with that of query or key, too. Values without the output's gradient have none.
AttentionBackward composed_attention_backward(GraphData& data, Node attention, const AttentionUpstream& upstream,
                                              const AttentionBackwardWanted& wanted);

}  // namespace heed::detail

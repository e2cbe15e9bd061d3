// The gradients of attention: as one pass that does not store the weights [.., S_q, S_kv], or as several nodes.
#pragma once

#include "graph/graph_data.hpp"

namespace heed::detail {

// Whether the operation attention_backward supports the attention `node`. It needs one type for all operands, a constant number of heads of
// a constant size up to 256, no lengths, positions or softcap, at most two of key padding, mask and bias, and no masked_fill for which a
// log-sum-exp is too coarse. Keys and values must be finite, whether queries see them or not.
bool has_attention_backward(const GraphData& data, const Node& node);

// The gradients that a caller requests of an attention.
struct AttentionBackwardWanted {
  bool query = true, key = true, value = true, bias = false;
};
// The requested gradients of query, key, value and bias, of their shapes, from `upstream`, the gradient of `output`, which is the result of
// an attention in the graph. A log-sum-exp is added to the attention if it has none. Dropout is drawn again with the counters of the
// forward pass.
struct AttentionBackward {
  Tensor query, key, value, bias;
};
AttentionBackward attention_backward(GraphData& data, Tensor output, Tensor upstream,
                                     const AttentionBackwardWanted& wanted = {});

// The gradients of an attention's results. Each may be invalid, but not all of them.
struct AttentionUpstream {
  Tensor output, weights, log_sum_exp, scores;
};
// The same, composed of matmuls, a recomputed softmax, and its gradient; all weights [B, H, S_q, S_kv] are in memory. Supports every
// attention, except a log-sum-exp with masked_fill. Gradients have the type of the query. The gradient of the bias has the shape of the
// weights, not yet summed to the bias' shape; it also exists if only that of query or key was requested. Without the output's gradient,
// values have none.
AttentionBackward composed_attention_backward(GraphData& data, Node attention, const AttentionUpstream& upstream,
                                              const AttentionBackwardWanted& wanted);

}  // namespace heed::detail

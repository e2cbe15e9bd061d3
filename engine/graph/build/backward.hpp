// Nodes that only gradients have. Each function adds one and gives its result; the caller has checked the operands.
#pragma once

#include "graph/build/build.hpp"

namespace heed::detail {

// --- op_elementwise.cpp

// The result of an elementwise function, as the graph call of it gives it.
Tensor apply(GraphData& data, Function function, std::span<const Tensor> operands);

// --- op_rows_backward.cpp

// scale * p (upstream - sum over the row of p upstream), with p what a softmax gave. Elements that `visible`, which may be
// invalid, has 0 for pass nothing.
Tensor softmax_backward(GraphData& data, Tensor weights, Tensor upstream, Tensor visible, float scale);
// The gradients of x in layernorm, rmsnorm or l2_normalize, and of gamma and beta where these are wanted. gamma may be invalid.
struct NormGradients {
  Tensor x, gamma, beta;
};
NormGradients norm_backward(GraphData& data, const NormBackwardAttrs& attrs, Tensor x, Tensor gamma, Tensor upstream,
                            bool of_gamma, bool of_beta);
// The gradient of logits [..., V], with upstream, F32 [...], that of each row's loss.
Tensor cross_entropy_backward(GraphData& data, Tensor logits, Tensor labels, Tensor upstream, float label_smoothing);

// --- op_other_backward.cpp

// upstream times the derivative of the activation at x.
Tensor activation_backward(GraphData& data, Tensor upstream, Tensor x, Activation kind);
// Adds up an axis, and removes it.
Tensor sum(GraphData& data, Tensor x, int axis);
Tensor cumsum(GraphData& data, Tensor x, const CumsumAttrs& attrs);
// [outer, count, inner]: rows [outer, n, inner] added up by their ids [outer, n].
Tensor embedding_backward(GraphData& data, Tensor rows, Tensor ids, SizeId count);
// Zeros of the dims of `whole`, whose memory has no gaps, but for what `part`, a view of that memory, shows: there lies x, which
// has the dims of `part`. The strides of `part` fall from axis to axis.
Tensor slice_backward(GraphData& data, Tensor x, const TensorInfo& part, const TensorInfo& whole);

}  // namespace heed::detail

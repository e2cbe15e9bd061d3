// Nodes that only gradients use. Each function adds one and returns its result; the caller has checked the operands.
#pragma once

#include "graph/build/build.hpp"

namespace heed::detail {

// --- op_elementwise.cpp

// The result of an elementwise function, as its graph call returns it.
Tensor apply(GraphData& data, Function function, std::span<const Tensor> operands);

// --- op_rows_backward.cpp

// scale * p (upstream - sum over the row of p upstream), where p is the result of a softmax. No gradient passes through elements for which
// `visible` (optional) is 0.
Tensor softmax_backward(GraphData& data, Tensor weights, Tensor upstream, Tensor visible, float scale);
// The gradients of x in layernorm, rmsnorm or l2_normalize, and, if requested, of gamma and beta. gamma may be invalid.
struct NormGradients {
  Tensor x, gamma, beta;
};
NormGradients norm_backward(GraphData& data, const NormBackwardAttrs& attrs, Tensor x, Tensor gamma, Tensor upstream,
                            bool of_gamma, bool of_beta);
// The gradient of logits [..., V], from upstream, F32 [...], the gradient of each row's loss.
Tensor cross_entropy_backward(GraphData& data, Tensor logits, Tensor labels, Tensor upstream, float label_smoothing);

// --- op_other_backward.cpp

// upstream times the derivative of the activation at x.
Tensor activation_backward(GraphData& data, Tensor upstream, Tensor x, Activation kind);
// Sums over an axis, and removes it.
Tensor sum(GraphData& data, Tensor x, int axis);
Tensor cumsum(GraphData& data, Tensor x, const CumsumAttrs& attrs);
// [outer, count, inner]: adds rows [outer, n, inner] up by their ids [outer, n].
Tensor embedding_backward(GraphData& data, Tensor rows, Tensor ids, SizeId count);
// Scatters x into zeros shaped like `whole`, whose memory is contiguous, at the view `part` of that memory. x has the dims of `part`, whose
// strides fall from axis to axis.
Tensor slice_backward(GraphData& data, Tensor x, const TensorInfo& part, const TensorInfo& whole);

}  // namespace heed::detail

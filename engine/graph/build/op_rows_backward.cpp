// Nodes for the gradients of operations over the last axis.
#include "graph/build/backward.hpp"

namespace heed::detail {

Tensor softmax_backward(GraphData& data, Tensor weights, Tensor upstream, Tensor visible, float scale) {
  Build build(data, "softmax_backward");
  if (!build.needs({weights, upstream}) || !build.allows({visible})) return {};
  const TensorInfo info = build.info(weights);
  const Tensor result = build.add_like(info, info.dtype);
  build.add_node(Op::SoftmaxBackward, {weights, upstream, visible}, result, SoftmaxBackwardAttrs{scale});
  return result;
}

NormGradients norm_backward(GraphData& data, const NormBackwardAttrs& attrs, Tensor x, Tensor gamma, Tensor upstream,
                            bool of_gamma, bool of_beta) {
  Build build(data, "norm_backward");
  if (!build.needs({x, upstream}) || !build.allows({gamma})) return {};
  const TensorInfo info = build.info(x);
  TensorInfo row;
  row.rank = 1;
  row.dims[0] = build.dim_from_end(info, 0);
  NormGradients made{build.add_like(info, info.dtype), {}, {}};
  if (of_gamma) made.gamma = build.add_like(row, info.dtype);
  if (of_beta) made.beta = build.add_like(row, info.dtype);
  Node& node = build.add_node(Op::NormBackward, {x, upstream, gamma}, made.x, attrs);
  node.outputs[out::kGammaGradient] = made.gamma;
  node.outputs[out::kBetaGradient] = made.beta;
  return made;
}

Tensor cross_entropy_backward(GraphData& data, Tensor logits, Tensor labels, Tensor upstream, float label_smoothing) {
  Build build(data, "cross_entropy_backward");
  if (!build.needs({logits, labels, upstream})) return {};
  const TensorInfo info = build.info(logits);
  const Tensor result = build.add_like(info, info.dtype);
  build.add_node(Op::CrossEntropyBackward, {logits, labels, upstream}, result, CrossEntropyAttrs{label_smoothing});
  return result;
}

}  // namespace heed::detail

#include "train/softmax.hpp"

#include "train/rules.hpp"

namespace heed::train {

Tensor visible_weights(Walk& walk, const Node& softmax) {
  if (!softmax.as<SoftmaxAttrs>().masked_fill) return {};
  Build build(walk.data(), "visible");
  Node again = softmax;
  again.as<SoftmaxAttrs>().masked_fill.reset();
  const TensorInfo info = walk.info(softmax.outputs[0]);
  const Tensor visible = build.add_like(info, info.dtype);
  build.add_node(Op::Softmax, {}, visible, again.attrs).inputs = again.inputs;
  return visible;
}

void softmax_rule(Walk& walk, const Node& node) {
  const Tensor x = node.inputs[in::kX], bias = node.inputs[in::kSoftmaxBias], weights = node.outputs[0];
  const Tensor upstream = walk.upstream(weights);
  const float scale = node.as<SoftmaxAttrs>().scale;
  const Tensor visible = visible_weights(walk, node);
  const bool biased = walk.wants(bias);
  const Tensor logits = detail::softmax_backward(walk.data(), weights, upstream, visible, biased ? 1.0f : scale);
  walk.add(bias, logits);
  if (walk.wants(x)) walk.add(x, biased && scale != 1.0f ? walk.graph().scale(logits, scale) : logits);
}

void cross_entropy_rule(Walk& walk, const Node& node) {
  walk.add(node.inputs[in::kX], detail::cross_entropy_backward(walk.data(), node.inputs[in::kX],
                                                               node.inputs[in::kLabels], walk.upstream(node.outputs[0]),
                                                               node.as<CrossEntropyAttrs>().label_smoothing));
}

}  // namespace heed::train

#include <array>

#include "train/rules.hpp"

namespace heed::train {
namespace {

// For a softmax with masked_fill: the weights without hidden keys, which are 0 for hidden keys, so that only visible keys get a gradient.
// Invalid for other softmaxes, which need none.
Tensor visible_weights(Backflow& flow, const Node& softmax) {
  if (!softmax.as<SoftmaxAttrs>().masked_fill) return {};
  Build build(flow.data(), "visible");
  Node again = softmax;
  again.as<SoftmaxAttrs>().masked_fill.reset();
  const TensorInfo info = flow.info(softmax.outputs[0]);
  const Tensor visible = build.add_like(info, info.dtype);
  build.add_node(Op::Softmax, {}, visible, again.attrs).inputs = again.inputs;
  return visible;
}

// The softmax of each row of a tensor of any rank. The rows are viewed as one matrix, since Graph::softmax supports at most four axes.
Tensor softmax_of_rows(Backflow& flow, Tensor x) {
  const TensorInfo info = flow.info(x);
  const auto rank = static_cast<size_t>(info.rank);
  const SizeId length = info.dims[rank - 1];
  SizeId rows = flow.data().sizes.constant(1);
  for (size_t i = 0; i + 1 < rank; ++i) rows = flow.data().sizes.mul(rows, info.dims[i]);
  const Tensor flat = reshaped(flow, x, std::array{rows, length});
  if (!flat.valid()) return {};
  return reshaped(flow, flow.graph().softmax(flat), {info.dims.data(), rank});
}

}  // namespace

void softmax_rule(Backflow& flow, const Node& node) {
  const Tensor x = node.inputs[in::kX], bias = node.inputs[in::kSoftmaxBias], weights = node.outputs[0];
  const Tensor upstream = flow.upstream(weights);
  const float scale = node.as<SoftmaxAttrs>().scale;
  const Tensor visible = visible_weights(flow, node);
  const bool biased = flow.wants(bias);
  const Tensor logits = detail::softmax_backward(flow.data(), weights, upstream, visible, biased ? 1.0f : scale);
  flow.add(bias, logits);
  if (flow.wants(x)) flow.add(x, biased && scale != 1.0f ? flow.graph().scale(logits, scale) : logits);
}

// dx = g - softmax(x) * sum of g over the row.
void log_softmax_rule(Backflow& flow, const Node& node) {
  const Tensor x = node.inputs[in::kX], upstream = flow.upstream(node.outputs[0]);
  if (!flow.wants(x) || !upstream.valid()) return;
  Graph& g = flow.graph();
  TensorInfo column = flow.info(x);
  column.dims[static_cast<size_t>(column.rank - 1)] = flow.data().sizes.constant(1);
  const Tensor sums = summed_to(flow, upstream, column);
  flow.add(x, upstream);
  flow.add(x, g.scale(g.mul(softmax_of_rows(flow, x), sums), -1.0f));
}

void cross_entropy_rule(Backflow& flow, const Node& node) {
  flow.add(node.inputs[in::kX], detail::cross_entropy_backward(flow.data(), node.inputs[in::kX],
                                                               node.inputs[in::kLabels], flow.upstream(node.outputs[0]),
                                                               node.as<CrossEntropyAttrs>().label_smoothing));
}

}  // namespace heed::train

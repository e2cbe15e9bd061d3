#include "graph/build/attention_backward.hpp"
#include "train/rules.hpp"

namespace heed::train {

void attention_rule(Backflow& flow, const Node& node) {
  const Tensor query = node.inputs[in::kQuery], key = node.inputs[in::kKey], value = node.inputs[in::kValue],
               bias = node.inputs[in::kAttentionBias];
  const detail::AttentionUpstream upstream = {
      flow.upstream(node.outputs[0]), flow.upstream(node.outputs[out::kWeights]),
      flow.upstream(node.outputs[out::kLogSumExp]), flow.upstream(node.outputs[out::kScores])};
  const detail::AttentionBackwardWanted wanted = {flow.wants(query), flow.wants(key), flow.wants(value),
                                                  flow.wants(bias)};
  if (flow.build().failed()) return;
  const bool is_plain = !upstream.weights.valid() && !upstream.log_sum_exp.valid() && !upstream.scores.valid();
  if (upstream.log_sum_exp.valid() && node.as<AttentionAttrs>().softmax.masked_fill)
    return flow.refuse(node, "has no gradient through log_sum_exp beside masked_fill");
  const detail::AttentionBackward made =
      is_plain && detail::has_attention_backward(flow.data(), node)
          ? detail::attention_backward(flow.data(), node.outputs[0], upstream.output, wanted)
          : detail::composed_attention_backward(flow.data(), node, upstream, wanted);
  flow.add(query, made.query);
  flow.add(key, made.key);
  flow.add(value, made.value);
  flow.add(bias, made.bias);
}

}  // namespace heed::train

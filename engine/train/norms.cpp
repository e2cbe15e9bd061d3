// Gradients of layernorm, rmsnorm and l2_normalize.
#include "train/rules.hpp"

namespace heed::train {
namespace {

using NormKind = NormBackwardAttrs::Kind;

void norm_rule(Backflow& flow, const Node& node, NormKind kind) {
  const Tensor x = node.inputs[in::kX], upstream = flow.upstream(node.outputs[0]);
  const Tensor gamma = kind == NormKind::L2 ? Tensor{} : node.inputs[in::kGamma];
  const Tensor beta = kind == NormKind::Layer ? node.inputs[in::kBeta] : Tensor{};
  const float eps = node.as<NormAttrs>().eps;
  if (!flow.wants(x) && !flow.wants(gamma)) return flow.add(beta, upstream);
  const detail::NormGradients made =
      detail::norm_backward(flow.data(), {kind, eps}, x, gamma, upstream, flow.wants(gamma), flow.wants(beta));
  flow.add(x, made.x);
  flow.add(gamma, made.gamma);
  flow.add(beta, made.beta);
}

}  // namespace

void layernorm_rule(Backflow& flow, const Node& node) { norm_rule(flow, node, NormKind::Layer); }
void rmsnorm_rule(Backflow& flow, const Node& node) { norm_rule(flow, node, NormKind::Rms); }
void l2_normalize_rule(Backflow& flow, const Node& node) { norm_rule(flow, node, NormKind::L2); }

}  // namespace heed::train

// layernorm, rmsnorm and l2_normalize.
#include "train/rules.hpp"

namespace heed::train {
namespace {

using Kind = NormBackwardAttrs::Kind;

void norm_rule(Walk& walk, const Node& node, Kind kind) {
  const Tensor x = node.inputs[in::kX], upstream = walk.upstream(node.outputs[0]);
  const Tensor gamma = kind == Kind::L2 ? Tensor{} : node.inputs[in::kGamma];
  const Tensor beta = kind == Kind::Layer ? node.inputs[in::kBeta] : Tensor{};
  const float eps = node.as<NormAttrs>().eps;
  if (!walk.wants(x) && !walk.wants(gamma)) return walk.add(beta, upstream);
  const detail::NormGradients made =
      detail::norm_backward(walk.data(), {kind, eps}, x, gamma, upstream, walk.wants(gamma), walk.wants(beta));
  walk.add(x, made.x);
  walk.add(gamma, made.gamma);
  walk.add(beta, made.beta);
}

}  // namespace

void layernorm_rule(Walk& walk, const Node& node) { norm_rule(walk, node, Kind::Layer); }
void rmsnorm_rule(Walk& walk, const Node& node) { norm_rule(walk, node, Kind::Rms); }
void l2_normalize_rule(Walk& walk, const Node& node) { norm_rule(walk, node, Kind::L2); }

}  // namespace heed::train

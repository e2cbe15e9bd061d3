#include "train/rules.hpp"

namespace heed::train {

// out = activation(scale (a op b)).
void elementwise_rule(Walk& walk, const Node& node) {
  using Kind = ElementwiseAttrs::Kind;
  Graph& g = walk.graph();
  const auto& attrs = node.as<ElementwiseAttrs>();
  const Tensor a = node.inputs[in::kA], b = node.inputs[in::kB];
  Tensor upstream = walk.upstream(node.outputs[0]);
  if (attrs.kind == Kind::ActivationBackward) return walk.refuse(node, "of an activation's gradient has none itself");
  if (attrs.activation != Activation::None) {
    Tensor before = a;
    if (attrs.kind != Kind::Copy || attrs.scale != 1.0f) {
      Node again = node;
      again.as<ElementwiseAttrs>().activation = Activation::None;
      before = again.outputs[0] = walk.build().add_like(walk.info(node.outputs[0]), walk.info(node.outputs[0]).dtype);
      walk.data().nodes.push_back(again);
    }
    upstream = detail::activation_backward(walk.data(), upstream, before, attrs.activation);
  }
  if (attrs.scale != 1.0f) upstream = g.scale(upstream, attrs.scale);
  if (attrs.kind != Kind::Mul) {
    walk.add(a, upstream);
    walk.add(b, upstream);
    return;
  }
  if (walk.wants(a)) walk.add(a, g.mul(upstream, b));
  if (walk.wants(b)) walk.add(b, g.mul(upstream, a));
}

// The same bits are drawn again, for the same elements.
void dropout_rule(Walk& walk, const Node& node) {
  Build build(walk.data(), "dropout");
  const Tensor upstream = walk.upstream(node.outputs[0]);
  if (!build.needs({upstream})) return;
  const Tensor result = build.add_like(walk.info(upstream), walk.info(upstream).dtype);
  build.add_node(Op::Dropout, {upstream}, result, node.as<DropoutAttrs>());
  walk.add(node.inputs[in::kX], result);
}

}  // namespace heed::train

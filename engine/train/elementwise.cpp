#include "train/rules.hpp"

namespace heed::train {

// out = activation(scale (a op b)).
void elementwise_rule(Backflow& flow, const Node& node) {
  using Kind = ElementwiseAttrs::Kind;
  Graph& g = flow.graph();
  const auto& attrs = node.as<ElementwiseAttrs>();
  const Tensor a = node.inputs[in::kA], b = node.inputs[in::kB];
  Tensor upstream = flow.upstream(node.outputs[0]);
  if (attrs.kind == Kind::ActivationBackward) return flow.refuse(node, "of an activation's gradient has none itself");
  if (attrs.activation != Activation::None) {
    Tensor before = a;
    if (attrs.kind != Kind::Copy || attrs.scale != 1.0f) {
      Node again = node;
      again.as<ElementwiseAttrs>().activation = Activation::None;
      before = again.outputs[0] = flow.build().add_like(flow.info(node.outputs[0]), flow.info(node.outputs[0]).dtype);
      flow.data().nodes.push_back(again);
    }
    upstream = detail::activation_backward(flow.data(), upstream, before, attrs.activation);
  }
  if (attrs.scale != 1.0f) upstream = g.scale(upstream, attrs.scale);
  if (attrs.kind != Kind::Mul) {
    flow.add(a, upstream);
    flow.add(b, upstream);
    return;
  }
  if (flow.wants(a)) flow.add(a, g.mul(upstream, b));
  if (flow.wants(b)) flow.add(b, g.mul(upstream, a));
}

// The same bits are drawn again, for the same elements.
void dropout_rule(Backflow& flow, const Node& node) {
  Build build(flow.data(), "dropout");
  const Tensor upstream = flow.upstream(node.outputs[0]);
  if (!build.needs({upstream})) return;
  const Tensor result = build.add_like(flow.info(upstream), flow.info(upstream).dtype);
  build.add_node(Op::Dropout, {upstream}, result, node.as<DropoutAttrs>());
  flow.add(node.inputs[in::kX], result);
}

}  // namespace heed::train

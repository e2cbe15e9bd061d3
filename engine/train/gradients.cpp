#include "graph/build/build.hpp"
#include "train/remat.hpp"
#include "train/rules.hpp"

namespace heed::train {
namespace {

using Rule = void (*)(Backflow& flow, const Node& node);

// Null if the sheet lists no rule.
Rule rule_of(Op op) {
  switch (op) {
#define HEED_OPERATION(enumerator, name, ...)                                             \
  case Op::enumerator:                                                                    \
    if constexpr (info_of(Op::enumerator).gradient == Gradient::Rule) return name##_rule; \
    break;
#include "graph/operations.inc"
#undef HEED_OPERATION
  }
  return nullptr;
}

void apply_rule(Backflow& flow, const Node& node) {
  if (const Rule rule = rule_of(node.op); rule != nullptr) return rule(flow, node);
  if (info_of(node.op).gradient == Gradient::None) flow.refuse(node, "has no gradient itself");
}

// Whether the values that a rule's nodes (from number `first` on) read of states are still current: a rule would read a state that was
// written since the forward pass with its new value.
bool reads_no_older_state(Backflow& flow, const Node& node, size_t first) {
  Build& build = flow.build();
  const auto is_read = [&](Tensor t) {
    for (size_t n = first; n < flow.data().nodes.size(); ++n)
      for (const Tensor input : flow.data().nodes[n].inputs)
        if (input.valid() && flow.info(input).storage == flow.info(t).storage) return true;
    return false;
  };
  for (const Tensor t : node.inputs)
    if (t.valid() && build.is_state(flow.info(t).storage) && is_read(t) && !build.needs_of_any_type({t})) return false;
  return true;
}

bool is_float_tensor(Build& build, Tensor t, const char* what) {
  if (!build.needs_of_any_type({t})) return false;
  if (is_float(build.info(t).dtype)) return true;
  return build.refuse(Status::DTypeMismatch,
                      format("%s %s has no gradient; f32, f16 or bf16 is needed", what, build.text(t).c_str()));
}

// The gradient of an output, which is 1 if none is given.
Tensor first_gradient(Backflow& flow, const Upstream& given) {
  Build& build = flow.build();
  if (!is_float_tensor(build, given.output, "the output")) return {};
  const TensorInfo output = build.info(given.output);
  if (!given.gradient.valid()) {
    if (flow.data().sizes.is_constant(build.elements(output), 1)) return filled(flow, output, output.dtype, 1.0f);
    return build.fail(Status::ShapeMismatch, format("the loss %s is not one number; give its gradient, or take a mean",
                                                    build.text(given.output).c_str()));
  }
  if (!build.needs({given.gradient})) return {};
  const TensorInfo& gradient = build.info(given.gradient);
  if (gradient.dtype == output.dtype && build.same_shape(gradient, output)) return given.gradient;
  return build.fail(gradient.dtype != output.dtype ? Status::DTypeMismatch : Status::ShapeMismatch,
                    format("the gradient %s is not like the output %s", build.text(given.gradient).c_str(),
                           build.text(given.output).c_str()));
}

bool run(Backflow& flow, std::span<const Upstream> outputs, std::span<const Tensor> of,
         const GradientOptions& options) {
  for (const Tensor t : of)
    if (!is_float_tensor(flow.build(), t, "what was asked for,"))
      return false;
    else
      flow.ask(t);
  const size_t count = flow.data().nodes.size();
  flow.spread({flow.data().nodes.data(), count});
  Remat remat(flow, options.remat);
  for (const Upstream& given : outputs) {
    const Tensor gradient = first_gradient(flow, given);
    if (!gradient.valid()) return false;
    flow.add(given.output, gradient);
  }
  for (size_t n = count; n-- > 0 && !flow.build().failed();) {
    const Node& original = flow.data().nodes[n];
    bool flows = false;
    for (const Tensor output : original.outputs) flows = flows || (output.valid() && flow.flows_to(output));
    if (!flows || flow.build().is_state(flow.info(original.outputs[0]).storage)) continue;
    const std::string label = original.label;
    const Node node = remat.seen(n);  // a copy, since rules add nodes
    const size_t first = flow.data().nodes.size();
    flow.graph().push_label(label);
    apply_rule(flow, node);
    flow.graph().pop_label();
    // Rules of custom passes use graph calls, which check each operand, and may write states themselves.
    if (node.op != Op::Custom && !flow.build().failed() && !reads_no_older_state(flow, node, first)) return false;
  }
  return !flow.build().failed();
}

}  // namespace

std::vector<Tensor> gradients(Graph& g, std::span<const Upstream> outputs, std::span<const Tensor> of,
                              const GradientOptions& options) {
  std::vector<Tensor> found(of.size());
  Backflow flow(g);
  g.push_label("gradients");
  if (!flow.build().failed() && run(flow, outputs, of, options))
    for (size_t i = 0; i < of.size(); ++i) found[i] = flow.result(of[i]);
  g.pop_label();
  if (flow.build().failed()) found.assign(of.size(), Tensor{});
  return found;
}

std::vector<Tensor> gradients(Graph& g, Tensor loss, std::span<const Tensor> of, const GradientOptions& options) {
  const Upstream output{loss, {}};
  return gradients(g, std::span(&output, 1), of, options);
}

}  // namespace heed::train

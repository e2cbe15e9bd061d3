#include "graph/functions.hpp"

namespace heed {

using Kind = SimpleElementwise::Kind;

ElementwiseAttrs program_of(const SimpleElementwise& simple) {
  if (simple.kind == Kind::ActivationBackward) return ElementwiseAttrs::of(backward_of(simple.activation));
  ElementwiseAttrs attrs = ElementwiseAttrs::empty();
  ElementwiseAttrs::Operand value = ElementwiseAttrs::input(0);
  if (simple.kind != Kind::Copy)
    value = attrs.add(simple.kind == Kind::Add ? Function::Add : Function::Mul, {value, ElementwiseAttrs::input(1)});
  if (simple.scale != 1.0f) value = attrs.add(Function::Mul, {value, attrs.scalar(simple.scale)});
  if (simple.activation != Activation::None) value = attrs.add(function_of(simple.activation), {value});
  if (attrs.count == 0) attrs.add(Function::Copy, {value});
  return attrs;
}

std::optional<SimpleElementwise> simple_of(const ElementwiseAttrs& attrs) {
  SimpleElementwise simple;
  uint8_t next = 0;
  ElementwiseAttrs::Operand value = ElementwiseAttrs::input(0);
  const auto takes = [&](Function function) {
    return next < attrs.count && attrs.steps[next].function == function && attrs.steps[next].operands[0] == value &&
           attrs.steps[next].domain != Domain::Byte;
  };
  const auto done = [&] { value = ElementwiseAttrs::step(next++); };
  if (attrs.is_copy()) return simple;
  const ElementwiseAttrs::Step& first = attrs.steps[0];
  if (const Activation kind = backward_activation_of(first.function); kind != Activation::None) {
    if (attrs.count != 1 || first.operands[0] != value || first.operands[1] != ElementwiseAttrs::input(1))
      return std::nullopt;
    return SimpleElementwise{Kind::ActivationBackward, 1.0f, kind};
  }
  for (const auto& [function, kind] : {std::pair{Function::Add, Kind::Add}, {Function::Mul, Kind::Mul}}) {
    if (next != 0 || !takes(function) || first.operands[1] != ElementwiseAttrs::input(1)) continue;
    simple.kind = kind;
    done();
  }
  if (takes(Function::Mul) && attrs.steps[next].operands[1].is(ElementwiseAttrs::Operand::Scalar) &&
      attrs.steps[next].domain == Domain::Float) {
    simple.scale = std::bit_cast<float>(attrs.scalars[attrs.steps[next].operands[1].index()]);
    done();
  }
  if (next < attrs.count && takes(attrs.steps[next].function)) {
    simple.activation = activation_of(attrs.steps[next].function);
    if (simple.activation != Activation::None) done();
  }
  if (next != attrs.count) return std::nullopt;
  return simple;
}

}  // namespace heed

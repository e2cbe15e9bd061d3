// Control flow, and operators that have no effect at inference.
#include "onnx/operators.hpp"

namespace heed::onnx {
namespace {

void identity(Call& call) { call.give(call.in(0)); }

void dropout(Call& call) {
  const auto is_0 = [&](size_t i) {
    const Known* known = call.has(i) ? call.need_known(i) : nullptr;
    return known != nullptr && known->numbers.size() == 1 && known->numbers[0].is(0);
  };
  if (call.has(2) && !is_0(2) && !(call.has(1) && is_0(1))) return call.fail("the training mode");
  call.give(call.in(0));
  if (call.node.outputs.size() < 2 || call.node.outputs[1].empty()) return;
  const Tensor x = call.tensor(0);
  if (!call.failed()) call.give(call.g.logical_or(call.g.eq(x, x), call.g.ne(x, x)), ElementType::Bool);
}

void choose(Call& call) {
  const Known* condition = call.need_known(0);
  if (condition == nullptr) return;
  const Number number = condition->numbers.empty() ? Number(0.0) : condition->numbers[0];
  const FileAttribute* branch = call.find(number.is(0) ? "else_branch" : "then_branch");
  if (branch == nullptr || branch->graph == nullptr) return call.fail("the branch is absent");
  for (const Value& value : call.importer().run_graph(*branch->graph, call.scope())) call.give(value);
}

constexpr Operator kControlOperators[] = {{"Dropout", dropout}, {"Identity", identity}, {"If", choose}};

}  // namespace

std::span<const Operator> control_operators() { return kControlOperators; }

}  // namespace heed::onnx

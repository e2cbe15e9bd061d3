// Operators that choose what runs, and those that do nothing when a model is used.
#include "onnx/operators.hpp"

namespace heed::onnx {
namespace {

void identity(Call& call) { call.give(call.in(0)); }

void dropout(Call& call) {
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

constexpr Operator kOperators[] = {{"Dropout", dropout}, {"Identity", identity}, {"If", choose}};

}  // namespace

std::span<const Operator> control_operators() { return kOperators; }

}  // namespace heed::onnx

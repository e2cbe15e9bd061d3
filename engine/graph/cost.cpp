#include "graph/schedule.hpp"

namespace heed {
namespace {

double bytes_of(const View& view) { return static_cast<double>(view.elements()) * static_cast<double>(size_of(view.dtype)); }

// Floating-point operations per element of the first output, for what is not a matrix product. Rough by nature:
// exp, tanh and division count as one.
double per_element(Op op) {
  switch (op) {
    case Op::Softmax: return 5;
    case Op::LayerNorm: return 7;
    case Op::RmsNorm:
    case Op::L2Normalize: return 4;
    case Op::Elementwise: return 2;
    default: return 1;
  }
}

double flops_of(const Schedule& schedule, const Node& node, const RunValues& values) {
  const View out = resolve(schedule, node.outputs[0], values);
  const auto count = static_cast<double>(out.elements());
  if (node.op == Op::Matmul) {
    const View a = resolve(schedule, node.inputs[in::kA], values);
    return 2.0 * count * static_cast<double>(a.dim[a.rank - 1]);
  }
  if (node.op == Op::Attention) {
    const View query = resolve(schedule, node.inputs[in::kQuery], values);
    const View value = resolve(schedule, node.inputs[in::kValue], values);
    return 2.0 * static_cast<double>(query.elements()) / static_cast<double>(query.dim[3]) *
           static_cast<double>(value.dim[2]) * static_cast<double>(query.dim[3] + value.dim[3]);
  }
  const View first = resolve(schedule, node.inputs[0], values);
  return per_element(node.op) * static_cast<double>(node.op == Op::Mean ? first.elements() : out.elements());
}

}  // namespace

Cost cost_of(const Schedule& schedule, const Node& node, const RunValues& values) {
  Cost cost;
  cost.flops = flops_of(schedule, node, values);
  for (Tensor output : node.outputs)
    if (output.valid()) cost.bytes += bytes_of(resolve(schedule, output, values));
  for (size_t i = 0; i < node.inputs.size(); ++i) {
    if (!node.inputs[i].valid()) continue;
    // A gather reads the rows it names, not the table.
    const Tensor read = node.op == Op::Embedding && i == in::kTable ? node.outputs[0] : node.inputs[i];
    cost.bytes += bytes_of(resolve(schedule, read, values));
  }
  return cost;
}

}  // namespace heed

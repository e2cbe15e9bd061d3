#include <algorithm>

#include "graph/schedule/schedule.hpp"

namespace heed {
namespace {

double bytes_shown(const View& view) {
  return static_cast<double>(bytes_of(view.dtype, static_cast<uint64_t>(view.elements())));
}

// Floating-point operations per element of the first output, or of the input for mean, cross_entropy and sample, of what is not a matrix
// product. A rough figure: exp, tanh and division count as one.
double per_element(Op op) {
  switch (op) {
    case Op::Softmax:
    case Op::Rotary: return 5;
    case Op::LayerNorm: return 7;
    case Op::RmsNorm:
    case Op::L2Normalize:
    case Op::CrossEntropy: return 4;
    case Op::Elementwise: return 2;
    case Op::Sample: return 400;  // it goes over a row a dozen times
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
  if (node.op == Op::Projection) {
    const auto& attrs = node.as<ProjectionAttrs>();
    const View x = resolve(schedule, node.inputs[in::kX], values);
    double columns = 0;
    for (const auto& weight : attrs.weights) columns += static_cast<double>(weight.columns);
    return 2.0 * static_cast<double>(x.elements()) * columns;
  }
  if (node.op == Op::Attention || node.op == Op::AttentionBackward) {
    const View query = resolve(schedule, node.inputs[in::kQuery], values);
    const View value = resolve(schedule, node.inputs[in::kValue], values);
    // Backward has two products and a half for each forward one: weights are computed again.
    return (node.op == Op::Attention ? 2.0 : 5.0) * static_cast<double>(query.elements()) /
           static_cast<double>(query.dim[3]) *
           static_cast<double>(node.as<AttentionAttrs>().softmax.visited_keys(value.dim[2], 1)) *
           static_cast<double>(query.dim[3] + value.dim[3]);
  }
  const View first = resolve(schedule, node.inputs[0], values);
  const bool is_of_input = node.op == Op::Mean || node.op == Op::CrossEntropy || node.op == Op::Sample;
  return per_element(node.op) * static_cast<double>(is_of_input ? first.elements() : out.elements());
}

// A gather reads the rows it names, not the table; an attention the keys and values that its queries see.
double bytes_read(const Schedule& schedule, const Node& node, size_t input, const RunValues& values) {
  const bool gathers =
      input == 0 && (node.op == Op::Embedding || (node.op == Op::Place && node.as<PlaceAttrs>().gathers));
  View view = resolve(schedule, gathers ? node.outputs[0] : node.inputs[input], values);
  view.dtype = schedule.info(node.inputs[input]).dtype;
  if (node.op == Op::Attention && (input == in::kKey || input == in::kValue))
    view.dim[2] = node.as<AttentionAttrs>().softmax.visited_keys(
        view.dim[2], resolve(schedule, node.inputs[in::kQuery], values).dim[2]);
  return bytes_shown(view);
}

}  // namespace

Cost cost_of(const Schedule& schedule, const Node& node, const RunValues& values) {
  Cost cost;
  cost.flops = flops_of(schedule, node, values);
  for (Tensor output : node.outputs)
    if (output.valid()) cost.bytes += bytes_shown(resolve(schedule, output, values));
  for (size_t i = 0; i < node.inputs.size(); ++i) {
    if (node.inputs[i].valid()) cost.bytes += bytes_read(schedule, node, i, values);
  }
  return cost;
}

std::vector<double> fewest_bytes(const Schedule& schedule, const RunValues& values) {
  using Space = Placement::Space;
  std::vector<double> unread(schedule.placements.size());  // by storage
  for (size_t id = 0; id < unread.size(); ++id) {
    const Placement& at = schedule.placements[id];
    const bool given = at.space == Space::Input || at.space == Space::Weight || at.space == Space::Constant;
    if (!given && at.space != Space::State) continue;
    const int64_t elements = values.sizes[static_cast<size_t>(at.elements)];
    unread[id] = static_cast<double>(bytes_of(schedule.tensors[id].dtype, static_cast<uint64_t>(elements)));
  }
  std::vector<double> fewest;
  for (const Node& node : schedule.passes) {
    double bytes = 0;
    for (const Tensor output : node.outputs)
      if (output.valid() &&
          (schedule.placement(output).space == Space::Output || schedule.placement(output).space == Space::State))
        bytes += bytes_shown(resolve(schedule, output, values));
    for (size_t i = 0; i < node.inputs.size(); ++i) {
      if (!node.inputs[i].valid()) continue;
      double& left = unread[schedule.info(node.inputs[i]).storage];
      const double read = std::min(left, bytes_read(schedule, node, i, values));
      left -= read;
      bytes += read;
    }
    fewest.push_back(bytes);
  }
  return fewest;
}

}  // namespace heed

#include <algorithm>

#include "graph/schedule/schedule.hpp"

namespace heed {
namespace {

double bytes_shown(const View& view) {
  return static_cast<double>(bytes_of(view.dtype, static_cast<uint64_t>(view.elements())));
}

double elements_of(const View& view) { return static_cast<double>(view.elements()); }

double attention_work(const Schedule& schedule, const Node& node, const RunValues& values) {
  const View query = resolve(schedule, node.inputs[in::kQuery], values);
  const View value = resolve(schedule, node.inputs[in::kValue], values);
  return elements_of(query) / static_cast<double>(query.dim[3]) *
         static_cast<double>(node.as<AttentionAttrs>().softmax.visited_keys(value.dim[2], 1)) *
         static_cast<double>(query.dim[3] + value.dim[3]);
}

double bytes_read(const Schedule& schedule, const Node& node, size_t input, const RunValues& values) {
  const auto reads = info_of(node.op).reads;
  View view = reads != nullptr ? reads(schedule, node, input, values) : resolve(schedule, node.inputs[input], values);
  view.dtype = schedule.info(node.inputs[input]).dtype;
  return bytes_shown(view);
}

}  // namespace

// Functions of the sheet for operations whose cost is not a constant per element.
namespace sheet {

double matmul_flops(const Schedule& schedule, const Node& node, const RunValues& values) {
  const View a = resolve(schedule, node.inputs[in::kA], values);
  return 2.0 * elements_of(resolve(schedule, node.outputs[0], values)) * static_cast<double>(a.dim[a.rank - 1]);
}

double elementwise_flops(const Schedule& schedule, const Node& node, const RunValues& values) {
  return elements_of(resolve(schedule, node.outputs[0], values)) * node.as<ElementwiseAttrs>().flops();
}

double projection_flops(const Schedule& schedule, const Node& node, const RunValues& values) {
  double columns = 0;
  for (const int64_t n : node.as<ProjectionAttrs>().columns) columns += static_cast<double>(n);
  return 2.0 * elements_of(resolve(schedule, node.inputs[in::kX], values)) * columns;
}

double attention_flops(const Schedule& schedule, const Node& node, const RunValues& values) {
  return 2.0 * attention_work(schedule, node, values);
}

// 2.5 matmuls for each one of the forward pass, since weights are recomputed.
double attention_backward_flops(const Schedule& schedule, const Node& node, const RunValues& values) {
  return 5.0 * attention_work(schedule, node, values);
}

// A gather reads only the rows that its ids name, not the whole table.
View named_rows(const Schedule& schedule, const Node& node, size_t input, const RunValues& values) {
  return resolve(schedule, input == 0 ? node.outputs[0] : node.inputs[input], values);
}

View gathered_rows(const Schedule& schedule, const Node& node, size_t input, const RunValues& values) {
  if (node.as<PlaceAttrs>().gathers) return named_rows(schedule, node, input, values);
  return resolve(schedule, node.inputs[input], values);
}

// The part of keys and values that queries see.
View visited_keys(const Schedule& schedule, const Node& node, size_t input, const RunValues& values) {
  View view = resolve(schedule, node.inputs[input], values);
  if (input == in::kKey || input == in::kValue)
    view.dim[2] = node.as<AttentionAttrs>().softmax.visited_keys(
        view.dim[2], resolve(schedule, node.inputs[in::kQuery], values).dim[2]);
  return view;
}

}  // namespace sheet

Cost cost_of(const Schedule& schedule, const Node& node, const RunValues& values) {
  Cost cost;
  const Flops& flops = info_of(node.op).flops;
  cost.flops =
      flops.count != nullptr
          ? flops.count(schedule, node, values)
          : flops.each * elements_of(resolve(schedule, flops.of_input ? node.inputs[0] : node.outputs[0], values));
  for (Tensor output : node.outputs)
    if (output.valid()) cost.bytes += bytes_shown(resolve(schedule, output, values));
  for (size_t i = 0; i < node.inputs.size(); ++i) {
    if (node.inputs[i].valid()) cost.bytes += bytes_read(schedule, node, i, values);
  }
  return cost;
}

std::vector<double> fewest_bytes(const Schedule& schedule, const RunValues& values) {
  using Space = Placement::Space;
  std::vector<double> unread(schedule.placements.size());  // by storage: bytes not yet read
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

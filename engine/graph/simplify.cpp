// Passes that take nodes out, and the bookkeeping of who reads what.
#include <algorithm>

#include "graph/build.hpp"
#include "graph/passes.hpp"

namespace heed::detail {

Uses::Uses(const GraphData& graph)
    : readers(graph.tensors.size()), is_output(graph.tensors.size(), false), producer(graph.tensors.size(), -1) {
  for (size_t n = 0; n < graph.nodes.size(); ++n) {
    const Node& node = graph.nodes[n];
    for (size_t i = 0; i < node.inputs.size(); ++i)
      if (node.inputs[i].valid()) readers[graph.tensors[node.inputs[i].id].storage].push_back({n, i});
    for (Tensor output : node.outputs)
      if (output.valid()) producer[graph.tensors[output.id].storage] = static_cast<int64_t>(n);
    if (node.workspace.valid()) producer[node.workspace.id] = static_cast<int64_t>(n);
  }
  for (const NamedTensor& output : graph.outputs) is_output[graph.tensors[output.tensor].storage] = true;
}

const Uses::Reader* Uses::only_reader(uint32_t storage) const {
  return readers[storage].size() == 1 && !is_output[storage] ? &readers[storage][0] : nullptr;
}

namespace {

// Makes everything that refers to `from` (a contiguous storage) refer to `to` instead. False if some view of
// `from` cannot be expressed on `to`.
bool substitute(GraphData* graph, Tensor from, Tensor to) {
  Build build(*graph, "dropout");
  const TensorInfo target = graph->tensors[to.id];
  const bool dense = build.is_contiguous(target);
  for (const TensorInfo& tensor : graph->tensors)
    if (!dense && tensor.storage == from.id && &tensor != &graph->tensors[from.id]) return false;
  // A host's shader knows no strides.
  for (const Node& node : graph->nodes)
    if (!dense && node.op == Op::Custom && std::find(node.inputs.begin(), node.inputs.end(), from) != node.inputs.end())
      return false;
  for (size_t i = 0; i < graph->tensors.size(); ++i) {
    TensorInfo& tensor = graph->tensors[i];
    if (tensor.storage != from.id || i == from.id) continue;
    tensor.storage = target.storage;
    tensor.offset = graph->sizes.add(tensor.offset, target.offset);
  }
  for (Node& node : graph->nodes)
    for (Tensor& input : node.inputs)
      if (input == from) input = to;
  for (NamedTensor& output : graph->outputs)
    if (output.tensor == from.id) output.tensor = to.id;
  return true;
}

}  // namespace

void remove_idle_dropout(GraphData* graph, bool training) {
  std::vector<Node> nodes;
  nodes.reserve(graph->nodes.size());
  // Substitution edits the nodes not yet visited, so that a chain of dropouts is resolved in order.
  for (size_t n = 0; n < graph->nodes.size(); ++n) {
    Node& node = graph->nodes[n];
    if (node.op == Op::Attention && !training) node.as<AttentionAttrs>().dropout = {};
    const bool idle = node.op == Op::Dropout && (!training || node.as<DropoutAttrs>().p == 0.0f);
    if (!idle || !substitute(graph, node.outputs[0], node.inputs[0])) {
      if (idle) {
        node.op = Op::Elementwise;  // views of a strided tensor: a plain copy serves them
        node.attrs = ElementwiseAttrs{};
      }
      nodes.push_back(node);
    }
  }
  graph->nodes = std::move(nodes);
}

void remove_dead_nodes(GraphData* graph) {
  std::vector<bool> needed(graph->tensors.size(), false);
  for (const NamedTensor& output : graph->outputs) needed[graph->tensors[output.tensor].storage] = true;
  std::vector<Node> kept;
  for (size_t n = graph->nodes.size(); n-- > 0;) {
    Node& node = graph->nodes[n];
    // What an attention gives beside its output is stored only when somebody reads it.
    for (const size_t i : {out::kWeights, out::kLogSumExp})
      if (node.op == Op::Attention && node.outputs[i].valid() && !needed[graph->tensors[node.outputs[i].id].storage])
        node.outputs[i] = {};
    const bool live = std::any_of(node.outputs.begin(), node.outputs.end(),
                                  [&](Tensor t) { return t.valid() && needed[graph->tensors[t.id].storage]; });
    if (!live) continue;
    for (Tensor input : node.inputs)
      if (input.valid()) needed[graph->tensors[input.id].storage] = true;
    kept.push_back(std::move(node));
  }
  std::reverse(kept.begin(), kept.end());
  graph->nodes = std::move(kept);
}

void isolate_outputs(GraphData* graph) {
  Build build(*graph, "output");
  const Uses uses(*graph);
  std::vector<bool> taken(graph->tensors.size(), false);
  for (NamedTensor& output : graph->outputs) {
    const TensorInfo info = graph->tensors[output.tensor];
    const TensorInfo& storage = graph->tensors[info.storage];
    SizeId elements = graph->sizes.constant(1), stored = elements;
    for (int i = 0; i < info.rank; ++i) elements = graph->sizes.mul(elements, info.dims[static_cast<size_t>(i)]);
    for (int i = 0; i < storage.rank; ++i) stored = graph->sizes.mul(stored, storage.dims[static_cast<size_t>(i)]);
    const bool whole = build.is_contiguous(info) && graph->sizes.is_constant(info.offset, 0) && elements == stored;
    if (whole && uses.producer[info.storage] >= 0 && !taken[info.storage]) {
      taken[info.storage] = true;
      continue;
    }
    const Tensor copy = build.add_like(info, info.dtype);
    build.add_node(Op::Elementwise, {Tensor{output.tensor}}, copy, ElementwiseAttrs{});
    output.tensor = copy.id;
    taken.resize(graph->tensors.size(), false);
    taken[copy.id] = true;
  }
}

}  // namespace heed::detail

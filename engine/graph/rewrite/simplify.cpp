// Rewrites that remove nodes or give outputs their own storage, and the Dataflow.
#include <algorithm>
#include <numeric>

#include "graph/build/build.hpp"
#include "graph/rewrite/rewrites.hpp"

namespace heed::detail {

Dataflow::Dataflow(const GraphData& graph)
    : is_output(graph.tensors.size(), false),
      producer(graph.tensors.size(), -1),
      first_producer(graph.tensors.size(), -1),
      first_reader_(graph.tensors.size() + 1, 0) {
  const auto for_inputs = [&](const auto& f) {
    for (size_t n = 0; n < graph.nodes.size(); ++n)
      for (size_t i = 0; i < graph.nodes[n].inputs.size(); ++i)
        if (const Tensor input = graph.nodes[n].inputs[i]; input.valid()) f(graph.tensors[input.id].storage, n, i);
  };
  // Counts the readers of each storage; then fills the readers of each storage from the end.
  for_inputs([&](uint32_t storage, size_t, size_t) { ++first_reader_[storage]; });
  std::partial_sum(first_reader_.begin(), first_reader_.end(), first_reader_.begin());
  all_readers_.resize(first_reader_.back());
  for_inputs([&](uint32_t storage, size_t n, size_t i) { all_readers_[--first_reader_[storage]] = {n, i}; });
  for (size_t n = 0; n < graph.nodes.size(); ++n) {
    const Node& node = graph.nodes[n];
    for (Tensor output : node.outputs) {
      if (!output.valid()) continue;
      const uint32_t storage = graph.tensors[output.id].storage;
      producer[storage] = static_cast<int64_t>(n);
      if (first_producer[storage] < 0) first_producer[storage] = static_cast<int64_t>(n);
    }
    if (node.workspace.valid())
      producer[node.workspace.id] = first_producer[node.workspace.id] = static_cast<int64_t>(n);
  }
  for (const auto* kept : {&graph.outputs, &graph.states})
    for (const NamedTensor& tensor : *kept) is_output[graph.tensors[tensor.tensor].storage] = true;
}

bool writes(const GraphData& graph, const Node& node, uint32_t storage) {
  return std::any_of(node.outputs.begin(), node.outputs.end(),
                     [&](Tensor t) { return t.valid() && graph.tensors[t.id].storage == storage; });
}

const Dataflow::Reader* Dataflow::only_reader(uint32_t storage) const {
  const std::span<const Reader> all = readers(storage);
  return all.size() == 1 && !is_output[storage] ? &all[0] : nullptr;
}

namespace {

// Replaces the contiguous storage `from` by `to` everywhere. Returns false if some view of `from` cannot be expressed on `to`.
bool substitute(GraphData* graph, Tensor from, Tensor to) {
  Build build(*graph, "dropout");
  const TensorInfo target = graph->tensors[to.id];
  const bool dense = build.is_contiguous(target);
  for (const TensorInfo& tensor : graph->tensors)
    if (!dense && tensor.storage == from.id && &tensor != &graph->tensors[from.id]) return false;
  for (const Node& node : graph->nodes)
    if (!dense && info_of(node.op).reads_dense &&
        std::find(node.inputs.begin(), node.inputs.end(), from) != node.inputs.end())
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
  // Substitution edits the nodes not yet visited, so chains of dropouts are resolved in order.
  for (size_t n = 0; n < graph->nodes.size(); ++n) {
    Node& node = graph->nodes[n];
    if (auto* attention = std::get_if<AttentionAttrs>(&node.attrs); attention != nullptr && !training)
      attention->dropout = {};
    const bool idle = node.op == Op::Dropout && (!training || node.as<DropoutAttrs>().p == 0.0f);
    // If the dropout reads a state that may be written before its result is read, the readers must still see the old values.
    const bool of_state = idle && Build(*graph, "dropout").is_state(graph->tensors[node.inputs[0].id].storage);
    if (!idle || of_state || !substitute(graph, node.outputs[0], node.inputs[0])) {
      if (idle) {
        node.op = Op::Elementwise;  // a copy: views of the result do not become views of the input
        node.attrs = ElementwiseAttrs{};
      }
      nodes.push_back(node);
    }
  }
  graph->nodes = std::move(nodes);
}

void remove_dead_nodes(GraphData* graph) {
  std::vector<bool> needed(graph->tensors.size(), false);
  for (const auto* list : {&graph->outputs, &graph->states})
    for (const NamedTensor& tensor : *list) needed[graph->tensors[tensor.tensor].storage] = true;
  std::vector<Node> kept;
  for (size_t n = graph->nodes.size(); n-- > 0;) {
    Node& node = graph->nodes[n];
    // Weights, log-sum-exp and scores of an attention are stored only if something reads them.
    for (const size_t i : {out::kWeights, out::kLogSumExp, out::kScores})
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
  const Dataflow flow(*graph);
  std::vector<bool> taken(graph->tensors.size(), false);
  for (NamedTensor& output : graph->outputs) {
    const TensorInfo info = graph->tensors[output.tensor];
    const TensorInfo& storage = graph->tensors[info.storage];
    const bool whole = build.is_contiguous(info) && graph->sizes.is_constant(info.offset, 0) &&
                       build.elements(info) == build.elements(storage);
    if (whole && flow.producer[info.storage] >= 0 && !taken[info.storage]) {
      taken[info.storage] = true;
      continue;
    }
    const Tensor copy = build.add_like(info, info.dtype);
    build.add_node(Op::Elementwise, {Tensor{output.tensor}}, copy, ElementwiseAttrs{}).label = output.name + ".output";
    output.tensor = copy.id;
    taken.resize(graph->tensors.size(), false);
    taken[copy.id] = true;
  }
}

}  // namespace heed::detail

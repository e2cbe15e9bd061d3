// Merges nodes that compute the same: models from other tools make the same mask in every layer.
#include <algorithm>
#include <map>
#include <utility>
#include <vector>

#include "graph/build/build.hpp"
#include "graph/rewrite/rewrites.hpp"

namespace heed::detail {
namespace {

constexpr size_t kMostConstantBytes = 1 << 16;  // larger constants are not compared

bool same_attrs(const Attrs& a, const Attrs& b) {
  if (a.index() != b.index()) return false;
  if (const auto* x = std::get_if<ElementwiseAttrs>(&a)) {
    const auto& y = *std::get_if<ElementwiseAttrs>(&b);
    return x->count == y.count && x->scalar_count == y.scalar_count &&
           std::equal(x->steps.begin(), x->steps.begin() + x->count, y.steps.begin()) &&
           std::equal(x->scalars.begin(), x->scalars.begin() + x->scalar_count, y.scalars.begin());
  }
  if (const auto* x = std::get_if<PlaceAttrs>(&a)) {
    const auto& y = *std::get_if<PlaceAttrs>(&b);
    return x->gathers && y.gathers && x->axis == y.axis && x->room == y.room;
  }
  if (const auto* x = std::get_if<ConcatAttrs>(&a)) return x->axis == std::get_if<ConcatAttrs>(&b)->axis;
  if (const auto* x = std::get_if<CumsumAttrs>(&a)) {
    const auto& y = *std::get_if<CumsumAttrs>(&b);
    return x->axis == y.axis && x->exclusive == y.exclusive && x->reverse == y.reverse;
  }
  if (const auto* x = std::get_if<ReduceAttrs>(&a)) {
    const auto& y = *std::get_if<ReduceAttrs>(&b);
    return x->axis == y.axis && x->kind == y.kind && x->mask_meaning == y.mask_meaning;
  }
  return false;  // other operations rarely occur twice with the same inputs
}

class Merging {
 public:
  explicit Merging(GraphData* graph)
      : graph_(*graph), build_(*graph, "merge"), flow_(*graph), instead_(graph->tensors.size()) {
    for (size_t i = 0; i < instead_.size(); ++i) instead_[i] = static_cast<uint32_t>(i);
  }

  void run() {
    for (size_t i = 0; i < graph_.constants.size(); ++i)
      for (size_t earlier = 0; earlier < i; ++earlier)
        if (are_equal(graph_.constants[earlier], graph_.constants[i])) {
          replace({graph_.constants[i].tensor}, {graph_.constants[earlier].tensor});
          break;
        }
    std::vector<Node> kept;
    kept.reserve(graph_.nodes.size());
    for (Node& node : graph_.nodes) {
      for (Tensor& input : node.inputs)
        if (input.valid()) input.id = instead_[input.id];
      if (const Node* same = find(node, kept)) {
        replace(node.outputs[0], same->outputs[0]);
        continue;
      }
      if (may_merge(node)) known_[key_of(node)].push_back(kept.size());
      kept.push_back(std::move(node));
    }
    graph_.nodes = std::move(kept);
  }

 private:
  using Key = std::pair<Op, std::pair<uint32_t, uint32_t>>;

  uint32_t storage_of(Tensor tensor) const { return tensor.valid() ? build_.info(tensor).storage : UINT32_MAX; }
  Key key_of(const Node& node) const { return {node.op, {storage_of(node.inputs[0]), storage_of(node.inputs[1])}}; }

  bool are_equal(const ConstantInfo& a, const ConstantInfo& b) const {
    return a.data.size() == b.data.size() && a.data.size() <= kMostConstantBytes &&
           same_view(build_.info({a.tensor}), build_.info({b.tensor})) &&
           std::equal(a.data.begin(), a.data.end(), b.data.begin());
  }

  bool same_view(const TensorInfo& a, const TensorInfo& b) const {
    return a.dtype == b.dtype && build_.same_shape(a, b) && a.offset == b.offset &&
           std::equal(a.strides.begin(), a.strides.begin() + a.rank, b.strides.begin());
  }
  bool same_input(Tensor a, Tensor b) const {
    return a == b ||
           (a.valid() && b.valid() && storage_of(a) == storage_of(b) && same_view(build_.info(a), build_.info(b)));
  }

  // Nodes that read a state are excluded, since it may be written between them, and so are nodes that make outputs, which need separate
  // memory.
  bool may_merge(const Node& node) const {
    const Tensor made = node.outputs[0];
    return same_attrs(node.attrs, node.attrs) && !node.outputs[1].valid() && made.id == storage_of(made) &&
           !build_.is_state(made.id) && std::none_of(node.inputs.begin(), node.inputs.end(), [&](Tensor input) {
             return input.valid() && build_.is_state(storage_of(input));
           });
  }

  const Node* find(const Node& node, const std::vector<Node>& kept) const {
    if (!may_merge(node) || flow_.is_output[node.outputs[0].id]) return nullptr;
    const auto found = known_.find(key_of(node));
    if (found == known_.end()) return nullptr;
    for (const size_t k : found->second) {
      const Node& other = kept[k];
      if (other.op == node.op && same_attrs(other.attrs, node.attrs) &&
          same_view(build_.info(other.outputs[0]), build_.info(node.outputs[0])) &&
          std::equal(node.inputs.begin(), node.inputs.end(), other.inputs.begin(),
                     [&](Tensor a, Tensor b) { return same_input(a, b); }))
        return &other;
    }
    return nullptr;
  }

  void replace(Tensor storage, Tensor by) {
    instead_[storage.id] = by.id;
    for (size_t i = 0; i < graph_.tensors.size(); ++i)
      if (graph_.tensors[i].storage == storage.id && i != storage.id) graph_.tensors[i].storage = by.id;
  }

  GraphData& graph_;
  const Build build_;
  const Dataflow flow_;
  std::vector<uint32_t> instead_;  // by storage id
  std::map<Key, std::vector<size_t>> known_;
};

}  // namespace

void merge_equal(GraphData* graph) { Merging(graph).run(); }

}  // namespace heed::detail

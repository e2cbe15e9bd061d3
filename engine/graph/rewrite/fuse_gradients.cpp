// Removes passes that gradients add and that other passes can include: activations after matmuls whose input and result are both read
// again; sums for biases; and concatenations of the gradients of queries, keys and values.
#include <algorithm>
#include <optional>
#include <utility>

#include "graph/build/build.hpp"
#include "graph/rewrite/rewrites.hpp"

namespace heed::detail {
namespace {

class GradientFusion {
 public:
  explicit GradientFusion(GraphData* graph) : graph_(*graph), build_(*graph, "fuse"), flow_(*graph) {}

  void run() {
    std::vector<bool> gone(graph_.nodes.size(), false);
    for (size_t n = 0; n < graph_.nodes.size(); ++n)
      gone[n] = goes_into_product(n) || sums_rows_of_norm(n) || joins_gradients_of_attention(n);
    std::vector<Node> kept;
    for (size_t n = 0; n < graph_.nodes.size(); ++n)
      if (!gone[n]) kept.push_back(std::move(graph_.nodes[n]));
    graph_.nodes = std::move(kept);
  }

 private:
  // The last node before `n` that writes the storage of a tensor, if its operation is `op`.
  Node* maker(Tensor tensor, Op op, size_t n) {
    const int64_t producer = flow_.producer[graph_.tensors[tensor.id].storage];
    if (producer < 0 || static_cast<size_t>(producer) >= n) return nullptr;
    Node& node = graph_.nodes[static_cast<size_t>(producer)];
    return node.op == op ? &node : nullptr;
  }

  // An activation of a matmul whose result others read, too: the matmul stores both.
  bool goes_into_product(size_t n) {
    const Node& activation = graph_.nodes[n];
    if (activation.op != Op::Elementwise) return false;
    const auto attrs = simple_of(activation.as<ElementwiseAttrs>());
    Node* const product = maker(activation.inputs[in::kA], Op::Matmul, n);
    if (!attrs || attrs->kind != SimpleElementwise::Kind::Copy || attrs->activation == Activation::None ||
        attrs->scale != 1.0f || product == nullptr || product->outputs[0] != activation.inputs[in::kA])
      return false;
    auto& made = product->as<MatmulAttrs>();
    const TensorInfo &before = build_.info(product->outputs[0]), &after = build_.info(activation.outputs[0]);
    if (made.activation != Activation::None || made.dropout.p > 0.0f || product->inputs[in::kResidual].valid() ||
        product->outputs[out::kBeforeActivation].valid() || before.dtype != after.dtype || before.dtype == DType::I32 ||
        build_.is_state(after.storage) || build_.is_state(before.storage) || !build_.same_shape(before, after) ||
        !build_.is_contiguous(before) || !build_.is_contiguous(after))
      return false;
    made.activation = attrs->activation;
    product->outputs[out::kBeforeActivation] = product->outputs[0];
    product->outputs[0] = activation.outputs[0];
    product->label += '+' + activation.label.substr(activation.label.rfind('.') + 1);
    return true;
  }

  // The gradient of a bias that was added before a norm: the sum over rows of the gradient of the norm's input.
  bool sums_rows_of_norm(size_t n) {
    const Node& sum = graph_.nodes[n];
    if (sum.op != Op::Reduce || sum.as<ReduceAttrs>().kind != Reduction::Sum) return false;
    const TensorInfo &x = build_.info(sum.inputs[in::kX]), &out = build_.info(sum.outputs[0]);
    Node* const norm = maker(sum.inputs[in::kX], Op::NormBackward, n);
    if (norm == nullptr || norm->outputs[out::kRowSums].valid() || norm->outputs[0].id != x.storage) return false;
    const TensorInfo& made = build_.info(norm->outputs[0]);
    bool whole = x.dtype == made.dtype && out.dtype == made.dtype && out.storage == sum.outputs[0].id &&
                 build_.dim_from_end(x, 0) == build_.dim_from_end(made, 0) && build_.is_contiguous(x) &&
                 build_.is_contiguous(out) && graph_.sizes.is_constant(x.offset, 0) &&
                 build_.elements(x) == build_.elements(made) && sum.as<ReduceAttrs>().axis + 1 < x.rank;
    // Checks that all rows are summed.
    for (int i = 0; i + 1 < x.rank; ++i)
      whole = whole && (i == sum.as<ReduceAttrs>().axis || graph_.sizes.is_constant(x.dims[static_cast<size_t>(i)], 1));
    if (whole) norm->outputs[out::kRowSums] = sum.outputs[0];
    return whole;
  }

  // A concatenation of the gradients of one attention only, each of which nothing else reads.
  bool joins_gradients_of_attention(size_t n) {
    const Node& join = graph_.nodes[n];
    if (join.op != Op::Concat || !build_.is_contiguous(build_.info(join.outputs[0]))) return false;
    Node* const attention = maker(join.inputs[0], Op::AttentionBackward, n);
    if (attention == nullptr || !attention->as<AttentionAttrs>().makes_query) return false;
    std::array<Tensor, 4> placed{};
    SizeId begin = graph_.sizes.constant(0);
    size_t count = 0;
    for (const Tensor part : join.inputs) {
      if (!part.valid()) break;
      std::optional<size_t> found;
      for (const size_t i : {out::kQueryGradient, out::kKeyGradient, out::kValueGradient})
        if (!placed[i].valid() && !found && shows_output(attention->outputs[i], part)) found = i;
      if (!found || ++count > 3) return false;
      placed[*found] = placed_view(attention->outputs[*found], part, join, begin);
      if (!placed[*found].valid()) return false;
      begin = graph_.sizes.add(begin, build_.info(part).dims[static_cast<size_t>(join.as<ConcatAttrs>().axis)]);
    }
    for (const size_t i : {out::kQueryGradient, out::kKeyGradient, out::kValueGradient})
      if (attention->outputs[i].valid() != placed[i].valid() || !is_only_read_by(attention->outputs[i], n))
        return false;
    if (!lie_well(placed)) return false;
    std::copy_n(placed.begin(), 3, attention->outputs.begin());
    return true;
  }

  bool is_only_read_by(Tensor output, size_t node) const {
    if (!output.valid()) return true;
    const uint32_t storage = graph_.tensors[output.id].storage;
    const auto readers = flow_.readers(storage);
    return !flow_.is_output[storage] &&
           std::all_of(readers.begin(), readers.end(),
                       [&](const Dataflow::Reader& reader) { return reader.node == node; });
  }

  // Whether both tensors show the same elements; their axes may be in another order.
  bool shows_output(Tensor output, Tensor part) {
    if (!output.valid()) return false;
    const TensorInfo &a = build_.info(output), &b = build_.info(part);
    return a.storage == b.storage && a.offset == b.offset && a.dtype == b.dtype &&
           build_.elements(a) == build_.elements(b);
  }

  // `output` as a view of the place in the concatenation's result where `part` goes: at `begin` of its axis, with the axes of `output`.
  // Invalid if no strides express it.
  Tensor placed_view(Tensor output, Tensor part, const Node& join, SizeId begin) {
    const TensorInfo from = build_.info(output), seen = build_.info(part), joined = build_.info(join.outputs[0]);
    TensorInfo view = from;
    view.name.clear();
    std::array<bool, kMaxRank> taken{};
    for (int i = 0; i < from.rank; ++i) {
      const auto at = static_cast<size_t>(i);
      if (graph_.sizes.is_constant(from.dims[at], 1)) continue;
      size_t axis = 0;
      while (axis < static_cast<size_t>(seen.rank) &&
             (taken[axis] || seen.dims[axis] != from.dims[at] || seen.strides[axis] != from.strides[at]))
        ++axis;
      if (axis == static_cast<size_t>(seen.rank)) return {};
      taken[axis] = true;
      view.strides[at] = joined.strides[axis];
    }
    const auto axis = static_cast<size_t>(join.as<ConcatAttrs>().axis);
    view.offset = graph_.sizes.add(joined.offset, graph_.sizes.mul(begin, joined.strides[axis]));
    view.storage = joined.storage;
    // Strides of axes of size 1 have no meaning; they are set to what kernels expect.
    if (graph_.sizes.is_constant(from.dims[1], 1)) view.strides[1] = graph_.sizes.constant(1);
    return build_.add_view(view, view.storage);
  }

  // Whether the layout of the outputs is the one that the sheet requires of AttentionBackward.
  bool lie_well(const std::array<Tensor, 4>& outputs) {
    const SizeTable& sizes = graph_.sizes;
    for (const size_t i : {out::kQueryGradient, out::kKeyGradient, out::kValueGradient}) {
      if (!outputs[i].valid()) continue;
      const TensorInfo& info = build_.info(outputs[i]);
      if (!sizes.is_constant(info.offset) || !sizes.is_constant(info.strides[1]) ||
          !sizes.is_constant(info.strides[2]) || !sizes.is_constant(info.strides[3], 1))
        return false;
      if (!sizes.is_constant(info.dims[0], 1) && info.strides[0] != graph_.sizes.mul(info.strides[2], info.dims[2]))
        return false;
    }
    if (!outputs[out::kKeyGradient].valid() || !outputs[out::kValueGradient].valid()) return true;
    const TensorInfo &key = build_.info(outputs[out::kKeyGradient]), &value = build_.info(outputs[out::kValueGradient]);
    return key.strides[1] == value.strides[1] && key.strides[2] == value.strides[2];
  }

  GraphData& graph_;
  Build build_;
  Dataflow flow_;
};

}  // namespace

void fuse_gradients(GraphData* graph) { GradientFusion(graph).run(); }

}  // namespace heed::detail

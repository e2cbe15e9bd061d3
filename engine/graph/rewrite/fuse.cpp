#include <cmath>
#include <optional>
#include <utility>

#include "graph/build/build.hpp"
#include "graph/rewrite/rewrites.hpp"

namespace heed::detail {
namespace {

// The last step in the epilogue of a matmul so far. Steps can only be added in this order (see MatmulAttrs).
enum class Stage { Product, Bias, Activation, Dropout, Residual };

Stage stage_of(const Node& matmul) {
  const auto& attrs = matmul.as<MatmulAttrs>();
  if (matmul.inputs[in::kResidual].valid()) return Stage::Residual;
  if (attrs.dropout.p > 0.0f) return Stage::Dropout;
  if (attrs.activation != Activation::None) return Stage::Activation;
  if (matmul.inputs[in::kBias].valid()) return Stage::Bias;
  return Stage::Product;
}

using Kind = SimpleElementwise::Kind;

bool is_sum(const Node& node) {
  const std::optional<SimpleElementwise> simple = simple_of(node.as<ElementwiseAttrs>());
  return simple && simple->kind == Kind::Add && simple->is_plain();
}

// Whether the product of two factors neither overflows nor loses bits.
bool may_combine(float a, float b) { return a == 1.0f || b == 1.0f || std::isnormal(a * b); }

class Fusion {
 public:
  Fusion(GraphData* graph, const PlanningDevice& device)
      : graph_(*graph), device_(device), build_(*graph, "fuse"), gone_(graph->nodes.size(), false) {}

  void run() {
    // Matmuls come first: an addition is worth more in their epilogue than in the operation after it. The fused node takes the position of
    // the later one, where all inputs exist. Sweeps repeat until one changes nothing.
    while (sweep(true)) {
    }
    while (sweep(false)) {
    }
    std::vector<Node> kept;
    for (size_t n = 0; n < graph_.nodes.size(); ++n)
      if (!gone_[n]) kept.push_back(std::move(graph_.nodes[n]));
    graph_.nodes = std::move(kept);
  }

 private:
  bool sweep(bool matmuls) {
    bool changed = false;
    const Dataflow flow = current_flow();
    std::vector<bool> touched(graph_.nodes.size(), false);
    for (size_t n = 0; n < graph_.nodes.size(); ++n) {
      if (gone_[n] || touched[n] || (graph_.nodes[n].op == Op::Matmul) != matmuls) continue;
      const Tensor output = graph_.nodes[n].outputs[0];
      const Dataflow::Reader* reader = flow.only_reader(graph_.tensors[output.id].storage);
      // A node that reads another view (other strides or another shape) cannot be an epilogue.
      if (reader == nullptr || touched[reader->node] || graph_.nodes[reader->node].inputs[reader->input] != output)
        continue;
      const std::optional<size_t> gone = fuse_pair(n, reader->node, reader->input);
      if (!gone) continue;
      gone_[*gone] = true;
      touched[n] = touched[reader->node] = true;
      changed = true;
    }
    return changed;
  }

  // Removed nodes must not count as readers.
  Dataflow current_flow() {
    for (size_t n = 0; n < graph_.nodes.size(); ++n)
      if (gone_[n]) graph_.nodes[n].inputs = {}, graph_.nodes[n].outputs = {};
    return Dataflow(graph_);
  }

  // Whether moving the first node to the position of the second would change what it reads, because a node between them writes a state.
  bool must_stay(size_t first, size_t second) const {
    for (const Tensor input : graph_.nodes[first].inputs) {
      if (!input.valid() || !build_.is_state(graph_.tensors[input.id].storage)) continue;
      for (size_t n = first + 1; n < second; ++n)
        if (writes(graph_, graph_.nodes[n], graph_.tensors[input.id].storage)) return true;
    }
    return false;
  }

  // Fuses two nodes if possible. Returns the one that was removed; none if they were not fused.
  std::optional<size_t> fuse_pair(size_t first, size_t second, size_t position) {
    const Op op = graph_.nodes[first].op;
    // Writes to states are left to write_in_place, which knows the strides that a pass can write.
    if (build_.is_state(graph_.tensors[graph_.nodes[second].outputs[0].id].storage) || must_stay(first, second))
      return std::nullopt;
    const auto if_fused = [](bool fused, size_t gone) { return fused ? std::optional(gone) : std::nullopt; };
    if (op == Op::Matmul) return if_fused(into_matmul(first, second, position), first);
    if (op == Op::LayerNorm || op == Op::RmsNorm)
      return if_fused(device_.traits.adds_behind_norms && add_behind_norm(first, second, position), first);
    if (op == Op::NormBackward) return if_fused(into_norm_backward(first, second, position), first);
    if (op == Op::Attention) return if_fused(device_.traits.strided_attention && skip_copy(first, second), second);
    if (op == Op::Elementwise)
      return if_fused(into_norm(first, second, position) || into_elementwise(first, second), first);
    return std::nullopt;
  }

  bool into_matmul(size_t first, size_t second, size_t position) {
    Node fused = graph_.nodes[first];
    const Node& after = graph_.nodes[second];
    const TensorInfo &product = build_.info(fused.outputs[0]), &result = build_.info(after.outputs[0]);
    if (product.dtype != result.dtype || !build_.same_shape(product, result)) return false;
    if (!(after.op == Op::Dropout ? add_dropout(&fused, after)
                                  : after.op == Op::Elementwise && add_elementwise(&fused, after, position)))
      return false;
    fused.outputs = after.outputs;
    fused.label += '+';
    fused.label += after.label.substr(after.label.rfind('.') + 1);
    graph_.nodes[second] = std::move(fused);
    return true;
  }

  bool add_dropout(Node* matmul, const Node& dropout) {
    if (stage_of(*matmul) >= Stage::Dropout) return false;
    matmul->as<MatmulAttrs>().dropout = dropout.as<DropoutAttrs>();
    return true;
  }

  bool add_elementwise(Node* matmul, const Node& after, size_t position) {
    auto& attrs = matmul->as<MatmulAttrs>();
    const std::optional<SimpleElementwise> simple = simple_of(after.as<ElementwiseAttrs>());
    if (!simple) return false;
    const SimpleElementwise& element = *simple;
    const Stage stage = stage_of(*matmul);
    if (element.kind == Kind::Copy) {
      if (element.scale != 1.0f && stage != Stage::Product) return false;
      if (element.activation != Activation::None && stage >= Stage::Activation) return false;
      if (!may_combine(attrs.scale, element.scale)) return false;
      attrs.scale *= element.scale;
      if (element.activation != Activation::None) attrs.activation = element.activation;
      return true;
    }
    if (element.kind == Kind::ActivationBackward)
      return stage == Stage::Product && position == in::kA && add_slopes(matmul, after);
    if (element.scale != 1.0f) return false;
    attrs.gated = element.kind == Kind::Mul;
    const Tensor other = after.inputs[1 - position];
    const TensorInfo &info = build_.info(other), &product = build_.info(matmul->outputs[0]);
    const bool is_bias = info.rank == 1 && info.dims[0] == build_.dim_from_end(product, 0) &&
                         build_.is_contiguous(info) && product.rank > 1;
    if (is_bias && stage == Stage::Product && !attrs.gated) {
      matmul->inputs[in::kBias] = other;
      attrs.activation = element.activation;
      return true;
    }
    // The residual comes last, so that an activation after the sum stays a node of its own.
    if (stage >= Stage::Residual || element.activation != Activation::None || !is_residual(info, product)) return false;
    matmul->inputs[in::kResidual] = other;
    return true;
  }

  // The gradient of an activation: the derivatives at the activation's input multiply the upstream gradient.
  bool add_slopes(Node* matmul, const Node& after) {
    const Tensor at = after.inputs[in::kB];
    if (!is_residual(build_.info(at), build_.info(matmul->outputs[0]))) return false;
    auto& attrs = matmul->as<MatmulAttrs>();
    attrs.slopes = true;
    attrs.activation = backward_activation_of(after.as<ElementwiseAttrs>().steps[0].function);
    matmul->inputs[in::kResidual] = at;
    return true;
  }

  bool is_residual(const TensorInfo& info, const TensorInfo& target) const {
    return build_.same_shape(info, target) &&
           graph_.sizes.is_constant(info.strides[static_cast<size_t>(info.rank - 1)], 1);
  }

  // add -> layernorm or rmsnorm: the norm adds before it normalizes.
  bool into_norm(size_t first, size_t second, size_t position) {
    const Node& sum = graph_.nodes[first];
    Node& norm = graph_.nodes[second];
    if ((norm.op != Op::LayerNorm && norm.op != Op::RmsNorm) || position != in::kX) return false;
    if (!is_sum(sum) || norm.inputs[in::kNormResidual].valid()) return false;
    const TensorInfo& result = build_.info(sum.outputs[0]);
    if (!is_residual(build_.info(sum.inputs[0]), result) || !is_residual(build_.info(sum.inputs[1]), result))
      return false;
    norm.inputs[in::kX] = sum.inputs[0];
    norm.inputs[in::kNormResidual] = sum.inputs[1];
    norm.label += "+add";
    return true;
  }

  // layernorm or rmsnorm -> add: the norm adds to its result.
  bool add_behind_norm(size_t first, size_t second, size_t position) {
    Node fused = graph_.nodes[first];
    const Node& sum = graph_.nodes[second];
    if (sum.op != Op::Elementwise || !is_sum(sum) || fused.inputs[in::kNormResidual].valid()) return false;
    const Tensor other = sum.inputs[1 - position];
    const TensorInfo &middle = build_.info(fused.outputs[0]), &result = build_.info(sum.outputs[0]);
    if (middle.dtype != result.dtype || !build_.same_shape(middle, result) || !is_residual(build_.info(other), result))
      return false;
    fused.inputs[in::kNormResidual] = other;
    fused.as<NormAttrs>().adds_behind = true;
    fused.outputs[0] = sum.outputs[0];
    fused.label += "+add";
    graph_.nodes[second] = std::move(fused);
    return true;
  }

  // A norm's gradient -> add: the pass adds the gradient of the residual connection.
  bool into_norm_backward(size_t first, size_t second, size_t position) {
    Node fused = graph_.nodes[first];
    const Node& sum = graph_.nodes[second];
    if (sum.op != Op::Elementwise || !is_sum(sum) || fused.inputs[in::kBackwardResidual].valid()) return false;
    const Tensor other = sum.inputs[1 - position];
    const TensorInfo &middle = build_.info(fused.outputs[0]), &result = build_.info(sum.outputs[0]);
    if (other == fused.outputs[0] || middle.dtype != result.dtype || !build_.same_shape(middle, result) ||
        !build_.is_contiguous(result) || !is_residual(build_.info(other), result))
      return false;
    // The fused node runs at the position of the sum, so no node before may read its other results.
    for (size_t n = first + 1; n < second; ++n)
      for (const Tensor input : graph_.nodes[n].inputs)
        for (const Tensor made : fused.outputs)
          if (input.valid() && made.valid() && graph_.tensors[input.id].storage == graph_.tensors[made.id].storage)
            return false;
    fused.inputs[in::kBackwardResidual] = other;
    fused.outputs[0] = sum.outputs[0];
    fused.label += "+add";
    graph_.nodes[second] = std::move(fused);
    return true;
  }

  // attention -> copy: attention writes to the destination of the copy. The attention keeps its position, since its other results may be
  // read before the copy.
  bool skip_copy(size_t first, size_t second) {
    Node& attention = graph_.nodes[first];
    const Node& copy = graph_.nodes[second];
    if (copy.op != Op::Elementwise) return false;
    const TensorInfo &middle = build_.info(attention.outputs[0]), &result = build_.info(copy.outputs[0]);
    if (!copy.as<ElementwiseAttrs>().is_copy() || middle.dtype != result.dtype || !build_.same_shape(middle, result))
      return false;
    attention.outputs[0] = copy.outputs[0];
    return true;
  }

  bool into_elementwise(size_t first, size_t second) {
    const Node& before = graph_.nodes[first];
    const Node& after = graph_.nodes[second];
    if (after.op != Op::Elementwise) return false;
    const std::optional<SimpleElementwise> b = simple_of(before.as<ElementwiseAttrs>()),
                                           a = simple_of(after.as<ElementwiseAttrs>());
    if (!a || !b) return false;
    const TensorInfo &middle = build_.info(before.outputs[0]), &result = build_.info(after.outputs[0]);
    if (a->kind != Kind::Copy || middle.dtype != result.dtype || !build_.same_shape(middle, result)) return false;
    if (b->activation != Activation::None && !a->is_plain()) return false;
    if (!may_combine(b->scale, a->scale)) return false;
    Node fused = before;
    fused.attrs =
        program_of({b->kind, b->scale * a->scale, a->activation != Activation::None ? a->activation : b->activation});
    fused.outputs = after.outputs;
    fused.label = after.label;
    graph_.nodes[second] = std::move(fused);
    return true;
  }

  GraphData& graph_;
  const PlanningDevice& device_;
  Build build_;
  std::vector<bool> gone_;
};

}  // namespace

void fuse(GraphData* graph, const PlanningDevice& device) { Fusion(graph, device).run(); }

}  // namespace heed::detail

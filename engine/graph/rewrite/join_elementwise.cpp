// Merges chains of elementwise functions into one pass: x * sigmoid(x), the gates of a recurrent cell, a sum with scale and clamp.
#include <algorithm>
#include <optional>

#include "graph/build/build.hpp"
#include "graph/rewrite/rewrites.hpp"

namespace heed::detail {
namespace {

class Joining {
 public:
  explicit Joining(GraphData* graph) : graph_(*graph), build_(*graph, "join"), gone_(graph->nodes.size(), false) {}

  void run() {
    while (sweep()) {
    }
    std::vector<Node> kept;
    for (size_t n = 0; n < graph_.nodes.size(); ++n)
      if (!gone_[n]) kept.push_back(std::move(graph_.nodes[n]));
    graph_.nodes = std::move(kept);
    for (Node& node : graph_.nodes)
      if (node.op == Op::Elementwise) node.as<ElementwiseAttrs>().rank = merged_rank(node);
  }

 private:
  bool sweep() {
    for (size_t n = 0; n < graph_.nodes.size(); ++n)
      if (gone_[n]) graph_.nodes[n].inputs = {}, graph_.nodes[n].outputs = {};
    bool changed = false;
    const Dataflow flow(graph_);
    std::vector<bool> touched(graph_.nodes.size(), false);
    for (size_t n = 0; n < graph_.nodes.size(); ++n) {
      if (gone_[n] || touched[n] || graph_.nodes[n].op != Op::Elementwise) continue;
      const Tensor output = graph_.nodes[n].outputs[0];
      const Dataflow::Reader* reader = flow.only_reader(graph_.tensors[output.id].storage);
      if (reader == nullptr || touched[reader->node]) continue;
      Node& second = graph_.nodes[reader->node];
      if (second.op != Op::Elementwise || second.inputs[reader->input] != output || must_stay(n, reader->node))
        continue;
      std::optional<Node> joined = join(graph_.nodes[n], second, reader->input);
      if (!joined) continue;
      second = std::move(*joined);
      gone_[n] = touched[n] = touched[reader->node] = changed = true;
    }
    return changed;
  }

  // Whether moving the first node to the position of the second would change what it reads, because a node between them writes a state, or
  // because the second writes the state that the first reads.
  bool must_stay(size_t first, size_t second) const {
    for (const Tensor input : graph_.nodes[first].inputs) {
      if (!input.valid() || !build_.is_state(graph_.tensors[input.id].storage)) continue;
      for (size_t n = first + 1; n <= second; ++n)
        if (writes(graph_, graph_.nodes[n], graph_.tensors[input.id].storage)) return true;
    }
    return false;
  }

  // Rounding to two bytes between two functions may be skipped only if the result is rounded to the same type, too.
  bool may_pass(DType middle, DType result) const {
    return (middle != DType::F16 && middle != DType::BF16) || middle == result;
  }

  std::optional<Node> join(const Node& first, const Node& second, size_t position) {
    const TensorInfo &middle = build_.info(first.outputs[0]), &result = build_.info(second.outputs[0]);
    if (!build_.same_shape(middle, result) || !may_pass(middle.dtype, result.dtype)) return std::nullopt;
    Node joined = second;
    joined.inputs = first.inputs;
    std::array<ElementwiseAttrs::Operand, ElementwiseAttrs::kInputs> places{};
    size_t count = first.input_count();
    for (size_t i = 0; i < second.input_count(); ++i) {
      if (i == position) continue;
      const auto begin = joined.inputs.begin(), end = begin + static_cast<ptrdiff_t>(count);
      const auto at = static_cast<size_t>(std::find(begin, end, second.inputs[i]) - begin);
      if (at == count) {
        if (count == ElementwiseAttrs::kInputs) return std::nullopt;
        joined.inputs[count++] = second.inputs[i];
      }
      places[i] = ElementwiseAttrs::input(static_cast<int>(at));
    }
    std::optional<ElementwiseAttrs> program =
        appended(first.as<ElementwiseAttrs>(), second.as<ElementwiseAttrs>(), position, places);
    if (!program) return std::nullopt;
    joined.attrs = *program;
    joined.label = first.label + '+' + second.label.substr(second.label.rfind('.') + 1);
    const size_t rank = merged_rank(joined);
    if (rank - 1 + rank * (count + 1) + program->scalar_count > ElementwiseAttrs::kWords) return std::nullopt;
    return joined;
  }

  // The program of both: the second reads the result of the first as its input `position`, and its other inputs become those at `places`.
  static std::optional<ElementwiseAttrs> appended(
      const ElementwiseAttrs& first, const ElementwiseAttrs& second, size_t position,
      const std::array<ElementwiseAttrs::Operand, ElementwiseAttrs::kInputs>& places) {
    ElementwiseAttrs program = first;
    // A copy adds no step.
    if (second.is_copy()) return program;
    if (first.is_copy()) program = ElementwiseAttrs::empty();
    const int before = program.count;
    if (before + second.count > ElementwiseAttrs::kSteps) return std::nullopt;
    const ElementwiseAttrs::Operand middle =
        before == 0 ? ElementwiseAttrs::input(0) : ElementwiseAttrs::step(before - 1);
    for (int i = 0; i < second.count; ++i) {
      const ElementwiseAttrs::Step& step = second.steps[static_cast<size_t>(i)];
      std::array<ElementwiseAttrs::Operand, 3> operands{};
      for (size_t k = 0; k < static_cast<size_t>(info_of(step.function).operands); ++k) {
        const ElementwiseAttrs::Operand from = step.operands[k];
        if (from.is(ElementwiseAttrs::Operand::Input))
          operands[k] = from.index() == position ? middle : places[from.index()];
        if (from.is(ElementwiseAttrs::Operand::Step)) operands[k] = ElementwiseAttrs::step(before + from.index());
        if (!from.is(ElementwiseAttrs::Operand::Scalar)) continue;
        const uint32_t bits = second.scalars[from.index()];
        const auto end = program.scalars.begin() + program.scalar_count;
        if (program.scalar_count == ElementwiseAttrs::kScalars && std::find(program.scalars.begin(), end, bits) == end)
          return std::nullopt;
        operands[k] = program.scalar_bits(bits);
      }
      program.add(step.function, operands, step.domain);
    }
    return program;
  }

  uint8_t merged_rank(const Node& node) {
    const TensorInfo out = build_.info(node.outputs[0]);
    const size_t count = node.input_count();
    std::array<SizeId, ElementwiseAttrs::kInputs + 1> inner{};
    SizeId length = -1;  // stride of the dims merged last; none yet
    uint8_t rank = 0;
    for (int i = 0; i < out.rank; ++i) {
      const SizeId dim = build_.dim_from_end(out, i);
      if (graph_.sizes.is_constant(dim, 1)) continue;
      std::array<SizeId, ElementwiseAttrs::kInputs + 1> strides{};
      for (size_t v = 0; v <= count; ++v)
        strides[v] = stride_of(build_.info(v < count ? node.inputs[v] : node.outputs[0]), i);
      bool merges = length >= 0;
      for (size_t v = 0; v <= count && merges; ++v) merges = strides[v] == graph_.sizes.mul(inner[v], length);
      if (merges) {
        length = graph_.sizes.mul(length, dim);
        continue;
      }
      ++rank;
      length = dim;
      inner = strides;
    }
    return std::max<uint8_t>(rank, 1);
  }

  // The stride along dim i, counted from the end; 0 where the tensor is broadcast.
  SizeId stride_of(const TensorInfo& info, int i) {
    if (i >= info.rank || graph_.sizes.is_constant(build_.dim_from_end(info, i), 1)) return graph_.sizes.constant(0);
    return info.strides[static_cast<size_t>(info.rank - 1 - i)];
  }

  GraphData& graph_;
  Build build_;
  std::vector<bool> gone_;
};

}  // namespace

void join_elementwise(GraphData* graph) { Joining(graph).run(); }

}  // namespace heed::detail

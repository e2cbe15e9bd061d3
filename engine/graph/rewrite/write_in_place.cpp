// Graph::append and assign add a copy into a state. If a pass computes only what is copied, it can write into the state itself. It may even
// overwrite what it reads, if it reads exactly the elements that it writes.
#include <algorithm>
#include <optional>
#include <utility>

#include "graph/build/build.hpp"
#include "graph/rewrite/rewrites.hpp"

namespace heed::detail {
namespace {

class Placing {
 public:
  Placing(GraphData* graph, const PlanningDevice& device, Products products)
      : graph_(*graph),
        build_(*graph, "append"),
        flow_(*graph),
        converts_(device.traits.converts_results),
        per_head_(products == Products::PerHead),
        gone_(graph->nodes.size(), false) {}

  void run() {
    for (size_t n = 0; n < graph_.nodes.size(); ++n) gone_[n] = is_left_out(n);
    std::vector<Node> kept;
    for (size_t n = 0; n < graph_.nodes.size(); ++n)
      if (!gone_[n]) kept.push_back(std::move(graph_.nodes[n]));
    graph_.nodes = std::move(kept);
  }

 private:
  // Lets the node that makes the source of copy `n` write into the state, if possible; the copy can then be removed.
  bool is_left_out(size_t n) {
    const Node& copy = graph_.nodes[n];
    if (copy.op == Op::Place && !copy.as<PlaceAttrs>().gathers) return is_turned_there(n);
    if (copy.op != Op::Elementwise || !build_.is_state(graph_.tensors[copy.outputs[0].id].storage)) return false;
    const TensorInfo seen = build_.info(copy.inputs[0]), place = build_.info(copy.outputs[0]);
    if (!copy.as<ElementwiseAttrs>().is_copy()) return false;
    const int64_t producer = flow_.producer[seen.storage];
    if (producer < 0 || flow_.only_reader(seen.storage) == nullptr) return false;
    Node& maker = graph_.nodes[static_cast<size_t>(producer)];
    const size_t made = made_as(maker, seen.storage);
    if (made == maker.outputs.size() ||
        (seen.dtype != place.dtype &&
         !(converts_ && info_of(maker.op).converts_results && !maker.outputs[1].valid())) ||
        is_touched(place, elements_of(place), static_cast<size_t>(producer) + 1, n))
      return false;
    const std::optional<TensorInfo> target = seen_as_result(build_.info(maker.outputs[made]), seen, place);
    if (reads_elsewhere(maker, target.value_or(place), place.storage)) return false;
    if (target && can_write(maker.op, *target))
      maker.outputs[made] = build_.add_view(*target, place.storage);
    else if (per_head_ && has_heads(maker, seen, place))
      make_per_head(maker, place);
    else
      return false;
    maker.label += '+' + copy.label.substr(copy.label.rfind('.') + 1);
    return true;
  }

  // The index of the node's output that is this storage and may become part of a state, or the number of outputs if none is.
  static size_t made_as(const Node& node, uint32_t storage) {
    size_t i = 0;
    const size_t count = info_of(node.op).outputs_elsewhere;
    while (i < count && node.outputs[i].id != storage) ++i;
    return i < count ? i : node.outputs.size();
  }

  // Whether a pass that writes `target`, in a state, also reads other elements of the state. A pass that works in place may compute a new
  // value of each element from the old one.
  bool reads_elsewhere(const Node& maker, const TensorInfo& target, uint32_t state) const {
    return std::any_of(maker.inputs.begin(), maker.inputs.end(), [&](Tensor t) {
      if (!t.valid() || graph_.tensors[t.id].storage != state) return false;
      return !info_of(maker.op).in_place || !shows_same(build_.info(t), target);
    });
  }

  bool shows_same(const TensorInfo& a, const TensorInfo& b) const {
    if (!build_.same_shape(a, b) || a.offset != b.offset) return false;
    for (int i = 0; i < a.rank; ++i) {
      const auto at = static_cast<size_t>(i);
      if (a.strides[at] != b.strides[at] && !graph_.sizes.is_constant(a.dims[at], 1)) return false;
    }
    return true;
  }

  // Lets a rotary scatter rows to their positions, if node `n` copies its result to the same positions.
  bool is_turned_there(size_t n) {
    const Node& copy = graph_.nodes[n];
    const auto& attrs = copy.as<PlaceAttrs>();
    const TensorInfo& place = build_.info(copy.outputs[0]);
    const int64_t producer = flow_.producer[copy.inputs[0].id];
    if (producer < 0 || flow_.only_reader(copy.inputs[0].id) == nullptr) return false;
    Node& maker = graph_.nodes[static_cast<size_t>(producer)];
    if (maker.op != Op::Rotary || maker.outputs[0] != copy.inputs[0] || attrs.axis != place.rank - 2 ||
        maker.inputs[in::kPositions] != copy.inputs[in::kPlaces] || build_.info(copy.inputs[0]).dtype != place.dtype ||
        is_touched(place, {}, static_cast<size_t>(producer), n))
      return false;
    auto& rotary = maker.as<RotaryAttrs>();
    rotary.placed = true;
    rotary.room = attrs.room;
    maker.outputs[0] = copy.outputs[0];
    maker.label += '+' + copy.label.substr(copy.label.rfind('.') + 1);
    return true;
  }

  // A range begin .. end - 1 of elements of a storage that contains all elements of a view with constant sizes.
  struct Elements {
    int64_t begin = 0, end = 0;
  };
  std::optional<Elements> elements_of(const TensorInfo& view) const {
    const SizeTable& sizes = graph_.sizes;
    if (!sizes.is_constant(view.offset)) return {};
    Elements elements{build_.max_of(view.offset), build_.max_of(view.offset) + 1};
    for (int i = 0; i < view.rank; ++i) {
      const auto at = static_cast<size_t>(i);
      if (!sizes.is_constant(view.dims[at]) || !sizes.is_constant(view.strides[at])) return {};
      elements.end += (build_.max_of(view.dims[at]) - 1) * build_.max_of(view.strides[at]);
    }
    return elements;
  }

  // Whether a node from `first` to the one before `last` may read or write these elements of a state. Gradients of many weights share a
  // state, each in its own range.
  bool is_touched(const TensorInfo& place, const std::optional<Elements>& elements, size_t first, size_t last) const {
    for (size_t n = first; n < last; ++n) {
      const Node& node = graph_.nodes[n];
      if (gone_[n]) continue;
      const auto touches = [&](Tensor t) {
        if (!t.valid() || graph_.tensors[t.id].storage != place.storage) return false;
        const std::optional<Elements> other =
            info_of(node.op).scatters ? std::nullopt : elements_of(graph_.tensors[t.id]);
        return !elements || !other || (elements->begin < other->end && other->begin < elements->end);
      };
      if (std::any_of(node.outputs.begin(), node.outputs.end(), touches) ||
          std::any_of(node.inputs.begin(), node.inputs.end(), touches))
        return true;
    }
    return false;
  }

  // Whether the node is a matmul by one matrix, viewed as heads [B, H, S, d] whose rows are contiguous in the state. Its bias then takes
  // the residual's position, and it must have no dropout, which would count other elements.
  bool has_heads(const Node& node, const TensorInfo& seen, const TensorInfo& place) {
    if (node.op != Op::Matmul || node.inputs[in::kResidual].valid() || node.outputs[out::kBeforeActivation].valid() ||
        build_.info(node.inputs[in::kB]).rank != 2)
      return false;
    const auto& attrs = node.as<MatmulAttrs>();
    const bool plain = attrs.activation == Activation::None || !node.inputs[in::kBias].valid();
    const TensorInfo &a = build_.info(node.inputs[in::kA]), &made = build_.info(node.outputs[0]);
    return plain && attrs.dropout.p == 0.0f && a.rank == made.rank && shows_heads(build_, made, seen) &&
           graph_.sizes.is_constant(place.strides[3], 1);
  }

  // Changes the matmul to make [H, B, S, d]: heads become a batch of matrices [K, d], all of which multiply the same rows.
  void make_per_head(Node& node, const TensorInfo& place) {
    const SizeId one = graph_.sizes.constant(1), none = graph_.sizes.constant(0), width = place.dims[3];
    const auto view = [&](const TensorInfo& of, std::array<SizeId, 4> dims, std::array<SizeId, 4> strides) {
      TensorInfo info = of;
      info.name.clear();
      info.rank = 4;
      std::copy(dims.begin(), dims.end(), info.dims.begin());
      std::copy(strides.begin(), strides.end(), info.strides.begin());
      return build_.add_view(info, of.storage);
    };
    const TensorInfo a = build_.info(node.inputs[in::kA]), b = build_.info(node.inputs[in::kB]);
    const SizeId batch = place.dims[0], heads = place.dims[1], tokens = place.dims[2];
    node.inputs[in::kA] = view(a, {one, batch, tokens, build_.dim_from_end(a, 0)},
                               {none, a.rank == 3 ? a.strides[0] : none, a.strides[static_cast<size_t>(a.rank - 2)],
                                a.strides[static_cast<size_t>(a.rank - 1)]});
    node.inputs[in::kB] = view(b, {heads, one, b.dims[0], width},
                               {graph_.sizes.mul(width, b.strides[1]), none, b.strides[0], b.strides[1]});
    if (const Tensor bias = std::exchange(node.inputs[in::kBias], Tensor{}); bias.valid()) {
      const TensorInfo of = build_.info(bias);
      node.inputs[in::kResidual] =
          view(of, {heads, one, one, width}, {graph_.sizes.mul(width, of.strides[0]), none, none, of.strides[0]});
    }
    node.outputs[0] = view(place, {heads, batch, tokens, width},
                           {place.strides[1], place.strides[0], place.strides[2], place.strides[3]});
  }

  bool can_write(Op op, const TensorInfo& target) {
    const bool dense_rows = graph_.sizes.is_constant(target.strides[static_cast<size_t>(target.rank - 1)], 1);
    return build_.is_contiguous(target) || (dense_rows && info_of(op).writes_strided_rows);
  }

  // `place`, the destination of `seen` (a view of the whole of `result`), with the dims of `result`. None if no strides express it.
  std::optional<TensorInfo> seen_as_result(const TensorInfo& result, const TensorInfo& seen, const TensorInfo& place) {
    if (!graph_.sizes.is_constant(seen.offset, 0) || !build_.is_contiguous(result) ||
        build_.elements(seen) != build_.elements(result))
      return {};
    const std::optional<TensorInfo> from = in_memory_order(seen, place);
    if (!from) return {};
    TensorInfo dense = result;
    dense.rank = 0;
    for (int i = 0; i < result.rank; ++i)
      if (const SizeId dim = result.dims[static_cast<size_t>(i)]; !graph_.sizes.is_constant(dim, 1))
        dense.dims[static_cast<size_t>(dense.rank++)] = dim;
    if (!reshape_in_place(build_, *from, &dense)) return {};
    TensorInfo target = result;
    target.name.clear();
    target.dtype = place.dtype;
    target.offset = place.offset;
    SizeId within = graph_.sizes.constant(1);  // the stride for an axis of size 1, as if it had further elements
    for (int i = result.rank; i-- > 0;) {
      const auto at = static_cast<size_t>(i);
      const bool one = graph_.sizes.is_constant(result.dims[at], 1);
      target.strides[at] = one ? within : dense.strides[static_cast<size_t>(--dense.rank)];
      within = graph_.sizes.mul(target.strides[at], target.dims[at]);
    }
    return target;
  }

  // `place` without axes of size 1, with its axes in the memory order of `seen`, which is contiguous.
  std::optional<TensorInfo> in_memory_order(const TensorInfo& seen, const TensorInfo& place) {
    TensorInfo ordered = place;
    ordered.rank = 0;
    std::array<bool, kMaxRank> done{};
    SizeId stride = graph_.sizes.constant(1);
    for (int left = seen.rank; left > 0; --left) {
      size_t next = kMaxRank;
      for (int i = seen.rank; i-- > 0;) {
        const auto at = static_cast<size_t>(i);
        if (done[at]) continue;
        const bool one = graph_.sizes.is_constant(seen.dims[at], 1);
        if (one || (next == kMaxRank && seen.strides[at] == stride)) next = at;
        if (one) break;
      }
      if (next == kMaxRank) return {};
      done[next] = true;
      if (graph_.sizes.is_constant(seen.dims[next], 1)) continue;
      stride = graph_.sizes.mul(seen.strides[next], seen.dims[next]);
      // `ordered` is built from its innermost axis outwards.
      std::rotate(ordered.dims.begin(), ordered.dims.end() - 1, ordered.dims.end());
      std::rotate(ordered.strides.begin(), ordered.strides.end() - 1, ordered.strides.end());
      ordered.dims[0] = place.dims[next];
      ordered.strides[0] = place.strides[next];
      ++ordered.rank;
    }
    return ordered;
  }

  GraphData& graph_;
  Build build_;
  Dataflow flow_;
  bool converts_, per_head_;
  std::vector<bool> gone_;
};

}  // namespace

void write_in_place(GraphData* graph, const PlanningDevice& device, Products products) {
  if (!graph->states.empty()) Placing(graph, device, products).run();
}

}  // namespace heed::detail

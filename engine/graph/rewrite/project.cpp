// Fuses the matmuls of a decoding step, whose few rows make passes cost more than their arithmetic. Queries, keys and values become one
// pass, with the norm before them, the rotary after them, and the copy of heads into the cache; so do a gate and the matmul that it
// multiplies.
#include <algorithm>
#include <optional>
#include <utility>

#include "graph/build/build.hpp"
#include "graph/rewrite/rewrites.hpp"
#include "graph/schedule/backend.hpp"

namespace heed::detail {
namespace {

// Kernels read 16 bytes at once: eight elements of two bytes.
constexpr int64_t kAligned = 8;
// Every workgroup reads the rows twice to compute mean and deviation. With as many columns as a vocabulary, that takes longer than a
// separate pass.
constexpr int64_t kMostColumnsAroundMean = 16384;

class Projecting {
 public:
  Projecting(GraphData* graph, const PlanningDevice& device, const WeightsImpl& weights)
      : graph_(*graph),
        device_(device),
        weights_(weights),
        build_(*graph, "project"),
        flow_(*graph),
        joins_(graph->nodes.size()),
        gone_(graph->nodes.size(), false) {}

  void run() {
    for (size_t n = 0; n < graph_.nodes.size(); ++n)
      if (!gone_[n] && is_product(n)) join(n);
    std::vector<Node> kept;
    for (size_t n = 0; n < graph_.nodes.size(); ++n) {
      if (joins_[n])
        kept.push_back(std::move(*joins_[n]));
      else if (!gone_[n])
        kept.push_back(std::move(graph_.nodes[n]));
    }
    graph_.nodes = std::move(kept);
  }

 private:
  // The nodes that become one pass. Rotation, cast and copy i belong to matmul i, and follow it in this order.
  struct Group {
    std::vector<size_t> products;
    std::array<std::optional<size_t>, 3> rotations{}, casts{}, copies{};
    std::optional<size_t> norm;
    bool gated = false;
    std::optional<SizeId> head;  // columns of a head, if rotations or copies work on heads
    Tensor positions;            // positions for all rotations or scatters, if a tensor gives them
    std::optional<SizeId> room;  // number of positions, if rows are scattered
    DType narrow = DType::F32;   // type of results whose type differs from that of the rows; F32: none does

    std::vector<size_t> nodes() const {
      std::vector<size_t> all = products;
      for (const auto& behind : {rotations, casts, copies})
        for (const auto& n : behind)
          if (n) all.push_back(*n);
      if (norm) all.push_back(*norm);
      return all;
    }
    void pop() {
      products.pop_back();
      for (auto* behind : {&rotations, &casts, &copies}) (*behind)[products.size()].reset();
    }
  };

  const Node& node(size_t n) const { return graph_.nodes[n]; }
  const TensorInfo& info(size_t n, size_t input) const { return build_.info(node(n).inputs[input]); }
  bool is(SizeId size, int64_t value) const { return graph_.sizes.is_constant(size, value); }
  uint32_t storage(Tensor t) const { return graph_.tensors[t.id].storage; }

  // --- Which nodes may be joined

  const WeightsImpl::Entry* weight(Tensor t) const {
    const auto found = std::find_if(graph_.weights.begin(), graph_.weights.end(),
                                    [&](const NamedTensor& w) { return w.tensor == storage(t); });
    return found == graph_.weights.end() ? nullptr : weights_.find(found->name);
  }

  // A matmul of few rows by a weight stored as [N, K].
  bool is_product(size_t n) {
    const Node& product = node(n);
    if (product.op != Op::Matmul) return false;
    const auto& attrs = product.as<MatmulAttrs>();
    const TensorInfo &a = info(n, in::kA), &b = info(n, in::kB), &out = build_.info(product.outputs[0]);
    if (attrs.slopes || product.outputs[heed::out::kBeforeActivation].valid()) return false;
    if (attrs.scale != 1.0f || attrs.dropout.p > 0.0f || out.rank > 3 || a.rank != out.rank || b.rank != 2)
      return false;
    int64_t rows = 1;
    for (int i = 0; i + 1 < out.rank; ++i) rows *= build_.max_of(out.dims[static_cast<size_t>(i)]);
    if (rows > kMostProjectedRows) return false;
    const SizeId depth = b.dims[0];
    if (!graph_.sizes.is_constant(depth) || !is(b.strides[0], 1) || b.strides[1] != depth ||
        !graph_.sizes.is_constant(b.dims[1]) || !graph_.sizes.is_constant(b.offset))
      return false;
    if (build_.max_of(depth) % kAligned != 0 || build_.max_of(b.offset) % kAligned != 0 ||
        build_.max_of(b.dims[1]) % 4 != 0)
      return false;
    if (!device_.projects(a.dtype, b.dtype, a.dtype) || weight(product.inputs[in::kB]) == nullptr) return false;
    const Tensor bias = product.inputs[in::kBias];
    return !bias.valid() || is_vector(bias, a.dtype);
  }

  // Whether the tensor is a one-dimensional contiguous weight.
  bool is_vector(Tensor t, DType dtype) const {
    const TensorInfo& info = build_.info(t);
    return weight(t) != nullptr && info.dtype == dtype && info.rank == 1 && is(info.strides[0], 1) &&
           graph_.sizes.is_constant(info.offset) && build_.max_of(info.offset) % kAligned == 0;
  }

  bool is_plain(size_t n) const {
    return node(n).as<MatmulAttrs>().activation == Activation::None && !node(n).inputs[in::kResidual].valid();
  }

  // Whether rows are in scratch, each at a multiple of 16 bytes. A host's buffer may begin at any offset.
  bool is_aligned(Tensor t) {
    const TensorInfo& info = build_.info(t);
    if (flow_.producer[info.storage] < 0 || flow_.is_output[info.storage] ||
        !is(info.strides[static_cast<size_t>(info.rank - 1)], 1))
      return false;
    bool aligned = graph_.sizes.is_multiple(info.offset, kAligned);
    for (int i = 0; i + 1 < info.rank; ++i)
      aligned = aligned && graph_.sizes.is_multiple(info.strides[static_cast<size_t>(i)], kAligned);
    return aligned;
  }

  bool shows_same(Tensor one, Tensor other) const {
    const TensorInfo &a = build_.info(one), &b = build_.info(other);
    return a.storage == b.storage && a.offset == b.offset && build_.same_shape(a, b) &&
           std::equal(a.strides.begin(), a.strides.begin() + a.rank, b.strides.begin());
  }

  // Whether one kernel can read the weights of both matmuls: quantized types may differ.
  bool stored_alike(size_t one, size_t other) const {
    const DType a = info(one, in::kB).dtype, b = info(other, in::kB).dtype;
    return a == b || (is_quantized(a) && is_quantized(b));
  }

  // --- Which nodes are joined

  void join(size_t first) {
    Group group;
    const Tensor rows = node(first).inputs[in::kA];
    std::vector<size_t> all;
    for (const Dataflow::Reader& reader : flow_.readers(storage(rows)))
      if (reader.input == in::kA && !gone_[reader.node] && is_product(reader.node) &&
          stored_alike(first, reader.node) && shows_same(node(reader.node).inputs[in::kA], rows))
        all.push_back(reader.node);
    std::sort(all.begin(), all.end());
    find_gated(all, &group);
    if (!group.gated && !is_plain(first)) {
      // A single matmul is joined if it has an activation and a norm before it.
      if (!node(first).inputs[in::kResidual].valid()) group.products = {first};
    } else if (!group.gated) {
      for (const size_t n : all)
        if (is_plain(n) && group.products.size() < 3) group.products.push_back(n);
      find_rotations(&group);
      find_copies(&group);
    }
    while (!group.products.empty()) {
      group.norm = norm_before(rows, group.products.size());
      if (group.norm && node(*group.norm).op == Op::LayerNorm && columns_of(group) > kMostColumnsAroundMean)
        group.norm.reset();
      if (!saves_passes(group) || !is_aligned(group.norm ? node(*group.norm).inputs[in::kX] : rows)) return;
      if (may_meet(group.nodes())) return replace(group);
      // A node between them, such as a rotation that cannot be joined, may keep the whole group from running together. A smaller group may
      // end before it.
      if (group.gated) return;
      group.pop();
    }
  }

  int64_t columns_of(const Group& group) const {
    int64_t columns = 0;
    for (const size_t n : group.products) columns += build_.max_of(info(n, in::kB).dims[1]);
    return columns;
  }

  static bool saves_passes(const Group& group) { return group.nodes().size() > 1; }

  // act(gate) * up: the second matmul has the first as its residual.
  void find_gated(const std::vector<size_t>& all, Group* group) const {
    for (const size_t up : all) {
      const Tensor gate = node(up).inputs[in::kResidual];
      const auto& attrs = node(up).as<MatmulAttrs>();
      if (!gate.valid() || !attrs.gated || attrs.activation != Activation::None) continue;
      const Dataflow::Reader* reader = flow_.only_reader(storage(gate));
      for (const size_t n : all) {
        if (reader == nullptr || node(n).outputs[0] != gate || node(n).inputs[in::kResidual].valid()) continue;
        if (info(n, in::kB).dtype != info(up, in::kB).dtype) continue;
        group->products = {n, up};
        group->gated = true;
        return;
      }
    }
  }

  // All rotations of a pass must be equal; a matmul with another rotation keeps it as a separate pass.
  void find_rotations(Group* group) {
    std::optional<size_t> like;
    for (size_t i = 0; i < group->products.size(); ++i) {
      const Dataflow::Reader* reader = flow_.only_reader(storage(node(group->products[i]).outputs[0]));
      if (reader == nullptr || !is_rotation_of(reader->node, group->products[i])) continue;
      if (like && !turn_alike(*like, reader->node)) continue;
      const auto& attrs = node(reader->node).as<RotaryAttrs>();
      if (attrs.placed && group->room.value_or(attrs.room) != attrs.room) continue;
      if (attrs.placed) group->room = attrs.room;
      like = group->rotations[i] = reader->node;
      group->head = info(*like, in::kX).dims[3];
      group->positions = node(*like).inputs[in::kPositions];
    }
  }

  // Finds copies of heads into a state, where heads lie apart, and casts before them. All heads of a pass have the same width.
  void find_copies(Group* group) {
    for (size_t i = 0; i < group->products.size(); ++i) {
      const std::optional<size_t> turned = group->rotations[i];
      if (turned && node(*turned).as<RotaryAttrs>().placed) continue;
      const size_t product = group->products[i];
      Tensor made = node(turned.value_or(product)).outputs[0];
      const Dataflow::Reader* reader = reader_in_scratch(made);
      if (reader == nullptr || !shows_heads_of(reader->node, turned, product)) continue;
      std::optional<size_t> cast;
      if (is_cast(reader->node)) {
        cast = reader->node;
        made = node(*cast).outputs[0];
        reader = reader_in_scratch(made);
        if (reader == nullptr || !shows_same(node(reader->node).inputs[0], made) ||
            build_.info(made).dtype != build_.info(node(reader->node).outputs[0]).dtype)
          continue;
      }
      if (!fits(reader->node, product, *group)) continue;
      const Node& copy = node(reader->node);
      group->copies[i] = reader->node;
      group->casts[i] = cast;
      group->head = info(reader->node, 0).dims[3];
      if (const DType to = build_.info(copy.outputs[0]).dtype; to != info(product, in::kA).dtype) group->narrow = to;
      if (copy.op != Op::Place) continue;
      group->positions = copy.inputs[in::kPlaces];
      group->room = copy.as<PlaceAttrs>().room;
    }
  }

  const Dataflow::Reader* reader_in_scratch(Tensor t) const {
    return build_.is_state(storage(t)) || flow_.is_output[storage(t)] ? nullptr : flow_.only_reader(storage(t));
  }

  // Whether the node reads a matmul's result [B, S, H d] as heads [B, H, S, d], or the whole result of their rotation.
  bool shows_heads_of(size_t n, std::optional<size_t> turned, size_t product) {
    if (turned) return shows_same(node(n).inputs[0], node(*turned).outputs[0]);
    return shows_heads(build_, build_.info(node(product).outputs[0]), info(n, 0));
  }

  bool is_plain_copy(size_t n) const {
    if (node(n).op != Op::Elementwise) return false;
    return node(n).as<ElementwiseAttrs>().is_copy();
  }
  bool is_cast(size_t n) const { return is_plain_copy(n) && !build_.is_state(storage(node(n).outputs[0])); }

  // Whether the node copies heads with contiguous rows into a state, in a layout that this group's pass can write.
  bool fits(size_t n, size_t product, const Group& group) {
    const Node& copy = node(n);
    const bool places = copy.op == Op::Place && !copy.as<PlaceAttrs>().gathers;
    if (!(places || is_plain_copy(n)) || !build_.is_state(storage(copy.outputs[0]))) return false;
    const TensorInfo &heads = info(n, 0), &place = build_.info(copy.outputs[0]);
    const DType rows = info(product, in::kA).dtype;
    if (place.rank != 4 || !is(place.strides[3], 1) || build_.max_of(heads.dims[3]) % 4 != 0 ||
        group.head.value_or(heads.dims[3]) != heads.dims[3])
      return false;
    if (place.dtype != rows && (!device_.projects(rows, info(product, in::kB).dtype, place.dtype) ||
                                (group.narrow != DType::F32 && group.narrow != place.dtype)))
      return false;
    if (!places) return true;
    const auto& attrs = copy.as<PlaceAttrs>();
    const Tensor at = copy.inputs[in::kPlaces];
    const bool turns = std::any_of(group.rotations.begin(), group.rotations.end(), [](const auto& r) { return !!r; });
    return attrs.axis == 2 && same_for_all_heads(at) && group.room.value_or(attrs.room) == attrs.room &&
           ((!turns && !group.positions.valid()) || group.positions == at);
  }

  bool same_for_all_heads(Tensor positions) const {
    const TensorInfo& at = build_.info(positions);
    return at.rank < 2 || is(build_.dim_from_end(at, 1), 1);
  }

  // Whether the node applies a rotary to the heads [B, H, S, d] of a matmul's contiguous result [B, S, H d].
  bool is_rotation_of(size_t n, size_t product) {
    const Node& rotary = node(n);
    if (rotary.op != Op::Rotary || !rotary.inputs[in::kRotaryTable].valid() ||
        storage(rotary.inputs[in::kX]) != storage(node(product).outputs[0]))
      return false;
    const TensorInfo &heads = info(n, in::kX), &made = build_.info(node(product).outputs[0]);
    const TensorInfo &out = build_.info(rotary.outputs[0]), &table = info(n, in::kRotaryTable);
    if (!shows_heads(build_, made, heads) || !is(out.strides[3], 1) || out.dtype != made.dtype) return false;
    // Tiles of four columns must hold whole pairs.
    if (build_.max_of(heads.dims[3]) % 4 != 0 || build_.max_of(table.dims[0]) % 2 != 0) return false;
    const Tensor positions = rotary.inputs[in::kPositions];
    return !positions.valid() || same_for_all_heads(positions);
  }

  bool turn_alike(size_t a, size_t b) const {
    const auto &one = node(a).as<RotaryAttrs>(), &other = node(b).as<RotaryAttrs>();
    return one.pairs == other.pairs && one.first == other.first &&
           node(a).inputs[in::kPositions] == node(b).inputs[in::kPositions] &&
           node(a).inputs[in::kRotaryTable] == node(b).inputs[in::kRotaryTable] &&
           info(a, in::kX).dims[3] == info(b, in::kX).dims[3];
  }

  // The norm that makes the rows, if nothing else reads its result.
  std::optional<size_t> norm_before(Tensor rows, size_t readers) const {
    const int64_t producer = flow_.producer[storage(rows)];
    if (producer < 0 || flow_.is_output[storage(rows)] || flow_.readers(storage(rows)).size() != readers) return {};
    const auto n = static_cast<size_t>(producer);
    const Node& norm = node(n);
    const auto is_factor = [&](size_t i) {
      return !norm.inputs[i].valid() || is_vector(norm.inputs[i], build_.info(rows).dtype);
    };
    if ((norm.op != Op::RmsNorm && norm.op != Op::LayerNorm) || norm.inputs[in::kNormResidual].valid() ||
        !is_factor(in::kGamma) || !is_factor(in::kBeta) ||
        !build_.same_shape(build_.info(norm.outputs[0]), build_.info(rows)) || !is(build_.info(rows).offset, 0))
      return {};
    return n;
  }

  // Whether all nodes can run at the position of the last one: no other node in between reads or writes what one of them writes, or writes
  // what one of them reads.
  bool may_meet(const std::vector<size_t>& nodes) const {
    const size_t last = *std::max_element(nodes.begin(), nodes.end());
    const auto inside = [&](size_t n) { return std::find(nodes.begin(), nodes.end(), n) != nodes.end(); };
    for (const size_t moved : nodes)
      for (size_t n = moved + 1; n < last; ++n) {
        if (joins_[n] ? touches(*joins_[n], node(moved)) : !gone_[n] && !inside(n) && touches(node(n), node(moved)))
          return false;
      }
    return true;
  }

  bool touches(const Node& other, const Node& moved) const {
    for (const Tensor out : moved.outputs) {
      if (!out.valid()) continue;
      if (writes(graph_, other, storage(out))) return true;
      for (const Tensor input : other.inputs)
        if (input.valid() && storage(input) == storage(out)) return true;
    }
    return std::any_of(moved.inputs.begin(), moved.inputs.end(),
                       [&](Tensor t) { return t.valid() && writes(graph_, other, storage(t)); });
  }

  // --- The pass

  void replace(const Group& group) {
    Node joined;
    joined.op = Op::Projection;
    ProjectionAttrs attrs;
    attrs.count = static_cast<uint32_t>(group.products.size());
    attrs.gated = group.gated;
    joined.inputs[in::kX] = node(group.products[0]).inputs[in::kA];
    if (group.norm) {
      joined.inputs[in::kX] = node(*group.norm).inputs[in::kX];
      joined.inputs[in::kProjectionGamma] = node(*group.norm).inputs[in::kGamma];
      joined.inputs[in::kProjectionBeta] = node(*group.norm).inputs[in::kBeta];
      attrs.norm_eps = node(*group.norm).as<NormAttrs>().eps;
      attrs.around_mean = node(*group.norm).op == Op::LayerNorm;
      joined.label = node(*group.norm).label + '+';
    }
    const auto place = [&attrs](size_t i, SizeId room) {
      attrs.placed |= 1u << i;
      attrs.room = room;
    };
    for (size_t i = 0; i < group.products.size(); ++i) {
      const Node& product = node(group.products[i]);
      joined.inputs[in::kProjectionWeights + i] = product.inputs[in::kB];
      joined.inputs[in::kProjectionBiases + i] = product.inputs[in::kBias];
      joined.outputs[i] = product.outputs[0];
      joined.label += (i == 0 ? "" : "+") + (i == 0 ? product.label : last_name(product.label));
      if (group.rotations[i]) {
        const Node& rotary = node(*group.rotations[i]);
        attrs.turned |= 1u << i;
        attrs.apart |= 1u << i;
        attrs.rotary = rotary.as<RotaryAttrs>();
        joined.inputs[in::kProjectionPositions] = rotary.inputs[in::kPositions];
        if (attrs.rotary.placed) place(i, attrs.rotary.room);
        joined.inputs[in::kProjectionTable] = rotary.inputs[in::kRotaryTable];
        joined.outputs[i] = rotary.outputs[0];
        joined.label += '+' + last_name(rotary.label);
      }
      if (!group.copies[i]) continue;
      const Node& copy = node(*group.copies[i]);
      attrs.apart |= 1u << i;
      if (copy.op == Op::Place) {
        joined.inputs[in::kProjectionPositions] = copy.inputs[in::kPlaces];
        place(i, copy.as<PlaceAttrs>().room);
      }
      joined.outputs[i] = copy.outputs[0];
      joined.label += '+' + last_name(copy.label);
    }
    if (attrs.apart != 0) attrs.head = build_.max_of(*group.head);
    attrs.activation = node(group.products[0]).as<MatmulAttrs>().activation;  // of a gate, or of a single matmul
    if (group.gated) joined.outputs = {node(group.products[1]).outputs[0]};
    if (!binds_weights_of(joined)) return;
    for (uint32_t i = 0; i < attrs.count; ++i)
      attrs.columns[i] = build_.max_of(build_.info(joined.inputs[in::kProjectionWeights + i]).dims[1]);
    joined.attrs = attrs;
    const std::vector<size_t> nodes = group.nodes();
    for (const size_t n : nodes) gone_[n] = true;
    joins_[*std::max_element(nodes.begin(), nodes.end())] = std::move(joined);
  }

  static std::string last_name(const std::string& label) { return label.substr(label.rfind('.') + 1); }

  bool binds_weights_of(const Node& joined) const {
    std::vector<const WeightEntry*> entries;
    for (const Tensor t : joined.inputs)
      if (const WeightEntry* const entry = t.valid() ? weight(t) : nullptr; entry != nullptr) entries.push_back(entry);
    return device_.binds_together(entries);
  }

  GraphData& graph_;
  const PlanningDevice& device_;
  const WeightsImpl& weights_;
  Build build_;
  Dataflow flow_;
  std::vector<std::optional<Node>> joins_;  // indexed by the node that it replaces
  std::vector<bool> gone_;
};

}  // namespace

void project(GraphData* graph, const PlanningDevice& device, const WeightsImpl& weights) {
  Projecting(graph, device, weights).run();
}

}  // namespace heed::detail

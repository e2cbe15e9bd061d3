// The gradients of attention: one dispatch for queries, one for keys and values, and one for the bias. They need two numbers of each query,
// which a separate dispatch or that of the queries computes first.
#include <bit>
#include <optional>

#include "base/philox.hpp"
#include "kernels/loops.hpp"
#include "kernels/operations.hpp"

namespace heed::kernels {
namespace {

using Backward = AttentionBackwardConstants;

// Sizes of a workgroup's tile: the rows that it owns, and those that it visits at a time.
struct Tile {
  uint32_t own, visit;
  uint32_t registers = 0;  // required per invocation
};
// The first tile that fits the registers and the shared memory is used.
constexpr Tile kTiles[] = {{32, 16, kManyRegisters}, {32, 8}, {16, 8}, {8, 4}, {4, 2}};

uint32_t bytes_of(const Tile& tile, int64_t d_k, int64_t d_v) {
  const int64_t row = 16 * (ceil_div<int64_t>(d_k, 4) + ceil_div<int64_t>(d_v, 4) + 2);
  return u32((tile.own + tile.visit) * (row + 8) + int64_t{8} * tile.own * tile.visit);
}

std::optional<Tile> tile_for(const Capabilities& device, int64_t d_k, int64_t d_v) {
  for (const Tile& tile : kTiles)
    if (tile.registers <= device.registers && bytes_of(tile, d_k, d_v) <= device.shared_bytes) return tile;
  return {};
}

// Halves a tile as long as it still covers all rows, since padding costs as much as rows do. Each invocation keeps a pair.
Tile cut(Tile tile, int64_t owned, int64_t visited) {
  const auto is_wide = [&] { return tile.own * tile.visit > kInvocations; };
  while (is_wide() && tile.own / 2 >= owned) tile.own /= 2;
  while (is_wide() && tile.visit / 2 >= visited) tile.visit /= 2;
  return tile;
}

int64_t width_of(const Select& select, size_t input) { return select.max_of(select.info(input).dims[3]); }

// The masks that are given, in the order of their bindings.
struct Masks {
  std::array<size_t, 2> inputs{};
  uint32_t count = 0;
};
template <class Has>
Masks masks_of(const Has& has) {
  Masks masks;
  for (const size_t i : {in::kAttentionKeyPadding, in::kAttentionMask, in::kAttentionBias})
    if (has(i) && masks.count < masks.inputs.size()) masks.inputs[masks.count++] = i;
  return masks;
}

constexpr uint32_t kRows = 4, kFirstMask = 5;

// Whether a separate kernel computes the two numbers of each query. Otherwise the kernel that owns queries has free bindings and computes
// them.
bool has_rows_kernel(const Node& node) {
  return !node.as<AttentionAttrs>().makes_query || masks_of([&](size_t i) { return node.inputs[i].valid(); }).count > 0;
}

// The result with the lowest offset; kernels get the offsets of all results relative to its storage.
Tensor first_result(const Node& node, bool owns_keys) {
  if (!owns_keys) return node.outputs[out::kQueryGradient];
  const Tensor key = node.outputs[out::kKeyGradient];
  return key.valid() ? key : node.outputs[out::kValueGradient];
}

// Sets the constants that all three kernels share, and binds their inputs.
KernelUse& add_kernel_of(const Select& select, const Tile& tile, const ByStorage& ids, const char* why) {
  const auto& attrs = select.node.as<AttentionAttrs>();
  const DropoutWords words = dropout_words(attrs.dropout.p);
  KernelUse& use = add_kernel(select, ids.of(select.out().dtype), {kInvocations, 1, 1}, why);
  uint32_t flags =
      masking_flags(select, attrs.softmax, in::kAttentionKeyPadding, in::kAttentionMask, in::kAttentionBias);
  if (attrs.dropout.p > 0.0f) flags |= HEED_ATTENTION_DROPOUT;
  use.key.set(Backward::D_K, u32(width_of(select, in::kKey))).set(Backward::D_V, u32(width_of(select, in::kValue)));
  use.key.set(Backward::FLAGS, flags).set(Backward::SCALE_BITS, std::bit_cast<uint32_t>(attrs.softmax.scale));
  use.key.set(Backward::FILL_BITS, std::bit_cast<uint32_t>(attrs.softmax.masked_fill.value_or(0.0f)));
  use.key.set(Backward::DROPOUT_THRESHOLD, words.threshold);
  use.key.set(Backward::KEEP_SCALE_BITS, std::bit_cast<uint32_t>(words.keep_scale));
  use.key.set(Backward::GROUP,
              u32(select.max_of(select.info(in::kQuery).dims[1]) / select.max_of(select.info(in::kKey).dims[1])));
  use.key.set(Backward::WINDOW, attrs.softmax.window);
  use.key.set(Backward::OWN, tile.own).set(Backward::VISIT, tile.visit);
  const auto read = [&](Tensor tensor) { use.buffers[use.buffer_count++] = {BufferUse::Kind::Tensor, false, tensor}; };
  for (const size_t i : {in::kQuery, in::kKey, in::kValue, in::kAttendedGradient}) read(select.node.inputs[i]);
  read(select.node.workspace);
  const Masks masks = masks_of([&](size_t i) { return select.has(i); });
  for (const size_t constant : {Backward::PADDING_AT, Backward::MASK_AT, Backward::BIAS_AT}) use.key.set(constant, 0);
  for (uint32_t m = 0; m < masks.inputs.size(); ++m) {
    read(select.node.inputs[m < masks.count ? masks.inputs[m] : in::kQuery]);
    if (m < masks.count)
      use.key.set(Backward::PADDING_AT + (masks.inputs[m] - in::kAttentionKeyPadding), kFirstMask + m);
  }
  return use;
}

Status add_pass(const Select& select, const Tile& most, bool owns_keys, const char* why) {
  constexpr ByStorage kIds = {KernelId::AttentionBackwardF32, KernelId::AttentionBackwardF16,
                              KernelId::AttentionBackwardBf16};
  constexpr ByStorage kFirst = {KernelId::AttentionBackwardFirstF32, KernelId::AttentionBackwardFirstF16,
                                KernelId::AttentionBackwardFirstBf16};
  const bool makes_rows = !owns_keys && !has_rows_kernel(select.node);
  const int64_t queries = select.max_of(select.info(in::kQuery).dims[2]);
  const int64_t keys = select.max_of(select.info(in::kKey).dims[2]);
  const Tile tile = owns_keys ? cut(most, keys, queries) : cut(most, queries, keys);
  KernelUse& use = add_kernel_of(select, tile, makes_rows ? kFirst : kIds, why);
  use.key.set(Backward::OWNS_KEYS, owns_keys);
  const int64_t all = owns_keys ? queries : keys, at_once = visits_at_once(use.key) * tile.visit;
  use.key.set(Backward::SUMS, 0).set(Backward::AT_ONCE, u32(at_once));
  if (ceil_div(all, at_once) > kMaxDispatchesPerPass / 3)
    return select.unsupported(format("gradients of %lld queries or keys; at most %lld are added up",
                                     static_cast<long long>(all),
                                     static_cast<long long>(kMaxDispatchesPerPass / 3 * at_once)));
  const Tensor key = select.node.outputs[out::kKeyGradient], value = select.node.outputs[out::kValueGradient];
  const Tensor first = first_result(select.node, owns_keys);
  const auto constant = [&](SizeId size) { return u32(select.max_of(size)); };
  const TensorInfo& made = select.schedule.info(first);
  use.key.set(Backward::OUT_TOKEN, constant(made.strides[2])).set(Backward::OUT_HEAD, constant(made.strides[1]));
  use.key.set(Backward::STORES, (key.valid() ? 1 : 0) + (value.valid() ? 2 : 0));
  if (makes_rows) {
    use.buffers[kRows].write = true;
    use.buffers[kFirstMask].tensor = select.node.inputs[in::kAttended];
    use.buffers[kFirstMask + 1].tensor = select.node.inputs[in::kAttendedLogSumExp];
  }
  use.key.set(Backward::VALUE_AT, owns_keys && key.valid() && value.valid()
                                      ? constant(select.schedule.info(value).offset) - constant(made.offset)
                                      : 0);
  use.buffers[use.buffer_count++] = {BufferUse::Kind::Tensor, true, first};
  return Status::Ok;
}

// Bit i is set if the bias is broadcast along axis i of the scores.
uint32_t summed_axes(const Select& select) {
  const TensorInfo& bias = select.info(in::kAttentionBias);
  const SizeTable& sizes = select.schedule.sizes;
  uint32_t axes = 0;
  for (int axis = 0; axis < 4; ++axis) {
    const int own = axis - (4 - bias.rank);
    if (own < 0 || sizes.is_constant(bias.dims[static_cast<size_t>(own)], 1)) axes |= 1u << axis;
  }
  return axes;
}

void add_bias(const Select& select, const Tile& tile) {
  constexpr ByStorage kIds = {KernelId::AttentionBackwardBiasF32, KernelId::AttentionBackwardBiasF16,
                              KernelId::AttentionBackwardBiasBf16};
  KernelUse& use =
      add_kernel_of(select, tile, kIds, "workgroups own elements of the bias and go over what it is broadcast to");
  use.key.set(Backward::OWNS_KEYS, true).set(Backward::SUMS, summed_axes(select));
  for (const size_t unused : {Backward::OUT_TOKEN, Backward::OUT_HEAD, Backward::VALUE_AT, Backward::STORES})
    use.key.set(unused, 0);
  use.buffers[use.buffer_count++] = {BufferUse::Kind::Tensor, true, select.node.outputs[out::kBiasGradient]};
}

bool makes_keys(const Node& node) {
  return node.outputs[out::kKeyGradient].valid() || node.outputs[out::kValueGradient].valid();
}

void add_rows(const Select& select, KernelId id) {
  KernelUse& rows = add_kernel(select, id, {kInvocations, 1, 1},
                               "an invocation per query: log-sum-exp, and the product of output and gradient");
  rows.buffer_count = 4;
  rows.buffers[0] = {BufferUse::Kind::Tensor, false, select.node.inputs[in::kAttended]};
  rows.buffers[1] = {BufferUse::Kind::Tensor, false, select.node.inputs[in::kAttendedGradient]};
  rows.buffers[2] = {BufferUse::Kind::Tensor, false, select.node.inputs[in::kAttendedLogSumExp]};
  rows.buffers[3] = {BufferUse::Kind::Tensor, true, select.node.workspace};
}

struct Strides {
  uint32_t b, h, s;
};
Strides strides_of(const View& x) { return {u32(x.stride[0]), u32(x.stride[1]), u32(x.stride[2])}; }

AttentionBackwardParams params_of(const Emit& emit, const View& q, const View& k, const View& v) {
  AttentionBackwardParams p{};
  p.offset[0] = u32(q.offset), p.offset[1] = u32(k.offset), p.offset[2] = u32(v.offset);
  p.offset[3] = u32(emit.in(in::kAttendedGradient).offset);
  p.heads = u32(q.dim[1]), p.s_q = u32(q.dim[2]), p.s_kv = u32(k.dim[2]);
  const Strides of_q = strides_of(q), of_k = strides_of(k), of_v = strides_of(v);
  p.q_b = of_q.b, p.q_h = of_q.h, p.q_s = of_q.s;
  p.k_b = of_k.b, p.k_h = of_k.h, p.k_s = of_k.s;
  p.v_b = of_v.b, p.v_h = of_v.h, p.v_s = of_v.s;
  View scores = q;
  scores.dim[3] = k.dim[2];
  const Masks masks = masks_of([&](size_t i) { return emit.has(i); });
  for (uint32_t m = 0; m < masks.count; ++m) {
    View mask = emit.in(masks.inputs[m]);
    if (masks.inputs[m] == in::kAttentionKeyPadding) {  // [B, S_kv]
      mask.stride[3] = mask.stride[1];
      mask.stride[1] = mask.stride[2] = 0;
    } else {
      mask = broadcast_to(mask, scores);
    }
    p.offset[kFirstMask + m] = u32(mask.offset);
    const Strides of_mask = strides_of(mask);
    if (m == 0)
      p.first_b = of_mask.b, p.first_h = of_mask.h, p.first_q = of_mask.s, p.first_k = u32(mask.stride[3]);
    else
      p.second_b = of_mask.b, p.second_h = of_mask.h, p.second_q = of_mask.s, p.second_k = u32(mask.stride[3]);
  }
  p.seed = emit.values.seed;
  p.stream = emit.node.as<AttentionAttrs>().dropout.stream;
  p.batches = u32(q.dim[0]);
  return p;
}

void emit_tasks(const Emit& emit, uint32_t kernel, AttentionBackwardParams p, int64_t tasks, double work) {
  const KernelUse& use = emit.kernels.uses[kernel];
  p.offset[7] = u32(resolve(emit.schedule, use.buffers[7].tensor, emit.values).offset);
  Dispatch& dispatch = emit.dispatches->add();
  dispatch.kernel = kernel;
  dispatch.groups = fold_groups(tasks);
  dispatch.work = work;
  dispatch.workspace_bytes = 8.0 * static_cast<double>(p.s_q) * p.heads * p.batches;
  dispatch.set_push(p);
}

// If the visited rows take several dispatches, sums are passed on in the result, and rounded if it has two bytes.
void emit_pass(const Emit& emit, uint32_t kernel, AttentionBackwardParams p, int64_t heads, int64_t owned,
               int64_t visited, double work) {
  const auto& spec = emit.kernels.uses[kernel].key.spec;
  const int64_t at_once = spec[Backward::AT_ONCE];
  for (int64_t begin = 0; begin < visited; begin += at_once) {
    p.begin = u32(begin);
    const double share = static_cast<double>(std::min(at_once, visited - begin)) / static_cast<double>(visited);
    emit_tasks(emit, kernel, p, heads * ceil_div<int64_t>(owned, spec[Backward::OWN]), work * share);
  }
}

void emit_bias(const Emit& emit, uint32_t kernel, const AttentionBackwardParams& p, double work) {
  const auto& spec = emit.kernels.uses[kernel].key.spec;
  const auto parts = [&](int axis, int64_t size, int64_t block) {
    return (spec[Backward::SUMS] >> axis & 1) != 0 ? 1 : ceil_div(size, block);
  };
  const int64_t blocks = parts(2, p.s_q, spec[Backward::VISIT]) * parts(3, p.s_kv, spec[Backward::OWN]);
  emit_tasks(emit, kernel, p, parts(0, p.batches, 1) * parts(1, p.heads, 1) * blocks, work);
}

void emit_rows_of(const Emit& emit, const View& q, const View& v) {
  AttentionBackwardRowsParams of_rows{};
  of_rows.offset[0] = u32(emit.in(in::kAttended).offset);
  of_rows.offset[1] = u32(emit.in(in::kAttendedGradient).offset);
  of_rows.offset[2] = u32(emit.in(in::kAttendedLogSumExp).offset);
  const int64_t heads = q.dim[0] * q.dim[1], rows = heads * q.dim[2];
  of_rows.rows = u32(rows), of_rows.heads = u32(q.dim[1]), of_rows.s_q = u32(q.dim[2]), of_rows.d_v = u32(v.dim[3]);
  Dispatch& dispatch = emit.dispatches->add();
  dispatch.groups = fold_groups(ceil_div<int64_t>(rows, kInvocations));
  dispatch.work = 8.0 * static_cast<double>(rows * v.dim[3]);
  dispatch.set_push(of_rows);
}

}  // namespace

int64_t attention_backward_workspace(const Need& need) {
  int64_t rows = 2;
  for (size_t i = 0; i < 3; ++i) rows = mul_up_to(rows, need.max_of(need.info(in::kQuery).dims[i]), int64_t{1} << 40);
  return rows;
}

Status select_attention_backward(const Select& select) {
  const int64_t d_k = width_of(select, in::kKey), d_v = width_of(select, in::kValue);
  const std::optional<Tile> tile = tile_for(select.device, d_k, d_v);
  if (!tile)
    return select.unsupported(
        format("heads of %lld and %lld elements", static_cast<long long>(d_k), static_cast<long long>(d_v)));
  constexpr ByStorage kIds = {KernelId::AttentionBackwardRowsF32, KernelId::AttentionBackwardRowsF16,
                              KernelId::AttentionBackwardRowsBf16};
  KernelId id{};
  Status status = pick_storage(select, select.info(in::kQuery).dtype, kIds, &id);
  if (status == Status::Ok) status = expect_dtype(select, in::kAttentionBias, "bias", select.out().dtype);
  if (status != Status::Ok) return status;
  if (has_rows_kernel(select.node)) add_rows(select, id);
  if (select.node.as<AttentionAttrs>().makes_query)
    status = add_pass(select, *tile, false, "workgroups own queries and go over keys");
  if (status == Status::Ok && makes_keys(select.node))
    status = add_pass(select, *tile, true, "workgroups own keys and go over queries");
  if (status != Status::Ok) return status;
  if (select.node.outputs[out::kBiasGradient].valid()) add_bias(select, *tile);
  return Status::Ok;
}

void emit_attention_backward(const Emit& emit) {
  const View q = emit.in(in::kQuery), k = emit.in(in::kKey), v = emit.in(in::kValue);
  const int64_t heads = q.dim[0] * q.dim[1], rows = heads * q.dim[2];
  uint32_t kernel = 0;
  AttentionBackwardParams p = params_of(emit, q, k, v);
  if (has_rows_kernel(emit.node)) {
    emit_rows_of(emit, q, v);
    ++kernel;
  } else {
    p.offset[kFirstMask] = u32(emit.in(in::kAttended).offset);
    p.offset[kFirstMask + 1] = u32(emit.in(in::kAttendedLogSumExp).offset);
  }
  const auto keys = static_cast<double>(emit.node.as<AttentionAttrs>().softmax.visited_keys(k.dim[2], 1));
  const double product = 2.0 * static_cast<double>(rows) * keys * static_cast<double>(q.dim[3] + v.dim[3]);
  if (emit.node.as<AttentionAttrs>().makes_query)
    emit_pass(emit, kernel++, p, heads, q.dim[2], k.dim[2], 1.5 * product);
  if (makes_keys(emit.node)) emit_pass(emit, kernel++, p, k.dim[0] * k.dim[1], k.dim[2], q.dim[2], 2.0 * product);
  if (emit.node.outputs[out::kBiasGradient].valid()) emit_bias(emit, kernel, p, product);
}

}  // namespace heed::kernels

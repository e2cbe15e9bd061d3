#include <algorithm>
#include <bit>

#include "base/philox.hpp"
#include "kernels/attention_split.hpp"
#include "kernels/operations.hpp"

namespace heed {
namespace {

constexpr int64_t kMostHeads = 65535;  // what AttentionParams can say
constexpr int64_t kMaxHead = 256;      // elements of a key or value of one head

// Rows of this tensor can be read with an innermost stride of 1.
bool has_dense_rows(const SizeTable& sizes, std::span<const TensorInfo> tensors, Tensor tensor) {
  if (!tensor.valid()) return true;
  const TensorInfo& info = tensors[tensor.id];
  const auto last = static_cast<size_t>(info.rank - 1);
  return sizes.is_constant(info.strides[last], 1) || sizes.is_constant(info.dims[last], 1);
}

// The constant head size, or 0 if it is an extent.
int64_t head_size(const SizeTable& sizes, const TensorInfo& info) {
  return sizes.is_constant(info.dims[3]) ? sizes.evaluate(info.dims[3], {}) : 0;
}

bool fits_head(int64_t size) { return size >= 1 && size <= kMaxHead; }

}  // namespace

namespace {

// The kernel of single subgroups serves this device: with other widths than lavapipe's usual one it takes a driver
// minutes to compile.
bool uses_subgroups(const Capabilities& device, DType dtype) {
  const bool f16 = dtype == DType::F16;
  if (!device.allows(f16 ? KernelId::AttentionF16Subgroup : KernelId::AttentionF32Subgroup)) return false;
  return device.software && device.subgroup_size == 8 && device.subgroup_arithmetic &&
         device.subgroup_shuffle;
}

}  // namespace

bool fuses_attention(const SizeTable& sizes, std::span<const TensorInfo> tensors, const Node& node,
                     const Capabilities& device) {
  if (node.op != Op::Attention || node.outputs[out::kWeights].valid()) return false;
  const TensorInfo& query = tensors[node.inputs[in::kQuery].id];
  if (query.dtype != DType::F32 && !(query.dtype == DType::F16 && device.f16)) return false;
  const KernelId plain = query.dtype == DType::F16 ? KernelId::AttentionF16 : KernelId::AttentionF32;
  if (!uses_subgroups(device, query.dtype) && !device.allows(plain)) return false;
  for (const size_t input : {in::kQuery, in::kKey, in::kValue, in::kAttentionKeyPadding})
    if (!has_dense_rows(sizes, tensors, node.inputs[input])) return false;
  return fits_head(head_size(sizes, query)) &&
         fits_head(head_size(sizes, tensors[node.inputs[in::kValue].id]));
}

namespace kernels {
namespace {

enum Spec : size_t {
  kDk = 3,
  kDv,
  kFlags,
  kScale,
  kFill,
  kThreshold,
  kKeepScale,
  kGroup,
  kLanes,
  kTq,
  kTk,
  kBk,
  kPartials,
  kSpecCount
};

constexpr size_t kOutBinding = 6, kLogSumExpBinding = 7;
constexpr uint32_t kSubgroupSpecCount = kTk;  // attention_subgroup.comp has no constants after kTq

// How the kernel of attention.comp is cut.
struct Shape {
  uint32_t invocations = 128;
  uint32_t lanes = 1;  // per query
  uint32_t tq = 1;     // queries per invocation
  uint32_t tk = 8;     // keys at a time
  uint32_t bk = 8;     // keys per tile

  uint32_t queries() const { return invocations / lanes * tq; }  // per workgroup
  uint32_t partials() const { return lanes > 1 ? invocations * tq * tk : 1; }
  // Four elements of one key or value, of every lane.
  uint32_t row_bytes(int64_t size) const {
    return static_cast<uint32_t>(align_up<int64_t>(size, 4 * lanes)) * 4;
  }
  uint32_t shared_bytes(int64_t d_k, int64_t d_v) const {
    return bk * (row_bytes(d_k) + row_bytes(d_v)) + partials() * 4 + 12;
  }
};

constexpr uint32_t kManyInvocations = 128, kFewInvocations = 32;  // for many queries, for few
// An invocation keeps its part of a query and of an output in registers. Of 64 elements each, AMD's compilers of 2022 spill
// some on RDNA 3. Few queries have more lanes each, since they would leave most of them idle otherwise.
constexpr int64_t kElementsPerLane = 40, kElementsPerLaneOfFew = 16;
// More would let fewer workgroups share a core.
constexpr uint32_t kSharedBytes = 16384;

Shape shape_for(int64_t d_k, int64_t d_v, uint32_t invocations) {
  Shape shape;
  shape.invocations = invocations;
  const int64_t elements = invocations == kFewInvocations ? kElementsPerLaneOfFew : kElementsPerLane;
  while (std::max(d_k, d_v) > elements * shape.lanes) shape.lanes *= 2;
  // Lanes wait for each other once per TK keys: rather eight of few than four of many.
  for (shape.bk = 32; shape.bk >= 16; shape.bk -= 8)
    if (shape.shared_bytes(d_k, d_v) <= kSharedBytes) return shape;
  shape.tk = 4;
  for (shape.bk = 28; shape.bk > 4; shape.bk -= 4)
    if (shape.shared_bytes(d_k, d_v) <= kSharedBytes) return shape;
  return shape;
}

// The shapes that runs of this attention may ask for: for many queries, for few.
struct Shapes {
  uint32_t count = 0;
  Shape shapes[2];
};
Shapes shapes_for(const Need& need) {
  const TensorInfo &query = need.info(in::kQuery), &value = need.info(in::kValue);
  const int64_t d_k = head_size(need.sizes, query), d_v = head_size(need.sizes, value);
  const Shape wide = shape_for(d_k, d_v, kManyInvocations), narrow = shape_for(d_k, d_v, kFewInvocations);
  const int64_t most_queries = need.max_of(query.dims[2]);
  Shapes found;
  if (most_queries > narrow.queries()) found.shapes[found.count++] = wide;
  if (most_queries <= narrow.queries() || !need.sizes.is_constant(query.dims[2]))
    found.shapes[found.count++] = narrow;
  return found;
}

// How many splits the fewest workgroups that a run may have would get, at most.
int64_t most_splits(const Need& need, const Shape& shape) {
  const TensorInfo& query = need.info(in::kQuery);
  int64_t groups = 1;
  for (const size_t i : {size_t{0}, size_t{1}, size_t{2}}) {
    int64_t count = need.sizes.is_constant(query.dims[i]) ? need.max_of(query.dims[i]) : 1;
    if (i == 2) count = ceil_div<int64_t>(count, shape.queries());
    groups = std::min(groups * std::min(count, kMostGroups), kMostGroups);
  }
  return splits_for(need.device, groups, shape.invocations, need.max_of(need.info(in::kKey).dims[2]));
}

// Heads of queries that share one head of keys and values: 1 where their number is an extent.
uint32_t heads_per_key_head(const Select& select) {
  return u32(select.max_of(select.info(in::kQuery).dims[1]) / select.max_of(select.info(in::kKey).dims[1]));
}

uint32_t flags_of(const Select& select) {
  const auto& attrs = select.node.as<AttentionAttrs>();
  uint32_t flags = 0;
  if (attrs.softmax.causal != Causal::None) flags |= HEED_SOFTMAX_CAUSAL;
  if (attrs.softmax.causal == Causal::BottomRight) flags |= HEED_ATTENTION_BOTTOM_RIGHT;
  if (select.has(in::kAttentionKeyPadding)) flags |= HEED_SOFTMAX_KEY_PADDING;
  if (attrs.softmax.key_padding_meaning == Mask::Meaning::Keep) flags |= HEED_SOFTMAX_KEY_PADDING_KEEP;
  if (select.has(in::kAttentionMask)) flags |= HEED_SOFTMAX_MASK;
  if (attrs.softmax.mask_meaning == Mask::Meaning::Keep) flags |= HEED_SOFTMAX_MASK_KEEP;
  if (select.has(in::kAttentionBias)) flags |= HEED_SOFTMAX_BIAS;
  if (attrs.softmax.masked_fill) flags |= HEED_SOFTMAX_FILL;
  if (attrs.dropout.p > 0.0f) flags |= HEED_ATTENTION_DROPOUT;
  if (select.node.outputs[out::kLogSumExp].valid()) flags |= HEED_ATTENTION_LOG_SUM_EXP;
  return flags;
}

// What all attention kernels have in common.
KernelUse& add_attention(const Select& select, KernelId id, uint32_t invocations, int64_t d_k, int64_t d_v,
                         const char* why) {
  const auto& attrs = select.node.as<AttentionAttrs>();
  const DropoutWords words = dropout_words(attrs.dropout.p);
  KernelUse& use = add_kernel(select, id, {invocations, 1, 1}, why);
  auto& spec = use.key.spec;
  spec[kDk] = u32(d_k);
  spec[kDv] = u32(d_v);
  spec[kFlags] = flags_of(select);
  spec[kScale] = std::bit_cast<uint32_t>(attrs.softmax.scale);
  spec[kFill] = std::bit_cast<uint32_t>(attrs.softmax.masked_fill.value_or(0.0f));
  spec[kThreshold] = words.threshold;
  spec[kKeepScale] = std::bit_cast<uint32_t>(words.keep_scale);
  spec[kGroup] = heads_per_key_head(select);
  constexpr size_t kInputs[] = {in::kQuery,         in::kKey,          in::kValue, in::kAttentionKeyPadding,
                                in::kAttentionMask, in::kAttentionBias};
  bind(select, &use, kInputs);
  use.buffers[use.buffer_count++] = {BufferUse::Kind::Tensor, true, log_sum_exp_or_output(select.node)};
  return use;
}

void add_shape(const Select& select, KernelId id, const Shape& shape, int64_t d_k, int64_t d_v, bool split,
               const char* why) {
  KernelUse& use = add_attention(select, id, shape.invocations, d_k, d_v, why);
  auto& spec = use.key.spec;
  use.key.spec_count = kSpecCount;
  if (split) {
    spec[kFlags] |= HEED_ATTENTION_PARTIAL;
    use.buffers[kOutBinding].tensor = select.node.workspace;
    use.buffers[kLogSumExpBinding].tensor = select.node.workspace;  // the second pass stores it
  }
  spec[kLanes] = shape.lanes;
  spec[kTq] = shape.tq;
  spec[kTk] = shape.tk;
  spec[kBk] = shape.bk;
  spec[kPartials] = shape.partials();
}

bool is_subgroup_kernel(const KernelUse& use) {
  return use.key.id == KernelId::AttentionF32Subgroup || use.key.id == KernelId::AttentionF16Subgroup;
}

// Queries of one subgroup: the more, the more often a read key or value is used, up to what a driver compiles
// in reasonable time.
uint32_t most_subgroup_queries(uint32_t lanes, int64_t d_v) {
  const int64_t groups = ceil_div<int64_t>(d_v, 4 * lanes);
  return groups <= 2 ? 16 : groups <= 4 ? 8 : 4;
}

void add_subgroup_kernels(const Select& select, int64_t d_k, int64_t d_v, int64_t most_queries, bool varies) {
  const uint32_t lanes = select.device.subgroup_size;
  const uint32_t most = most_subgroup_queries(lanes, d_v);
  const KernelId id =
      select.out().dtype == DType::F16 ? KernelId::AttentionF16Subgroup : KernelId::AttentionF32Subgroup;
  const auto& inputs = select.node.inputs;
  Vec4 known = Vec4::Always;
  for (const size_t input : {in::kQuery, in::kKey, in::kValue})
    known = worse(known, vec4_of(select, inputs[input]));
  for (const uint32_t tq : {1u, most}) {
    if (tq == 1 ? most_queries > 1 && !varies : most_queries == 1) continue;
    add_vec4_kernels(known, [&](bool vec4) -> KernelUse& {
      KernelUse& use =
          add_attention(select, id, lanes, d_k, d_v,
                        tq == 1 ? "fused, a subgroup per query, no barrier: a CPU runs this driver"
                                : "fused, several queries per subgroup, no barrier: a CPU runs this driver");
      use.key.spec_count = kSubgroupSpecCount;
      use.key.spec[kLanes] = lanes;
      use.key.spec[kTq] = tq;
      if (vec4) use.key.spec[kFlags] |= HEED_ATTENTION_VEC4;
      return use;
    });
  }
}

uint32_t queries_of(const KernelUse& use) {
  const auto& spec = use.key.spec;
  if (is_subgroup_kernel(use)) return spec[kTq];
  return spec[0] / spec[kLanes] * spec[kTq];
}

// The scores that are never stored: what masks and biases broadcast to.
View scores_of(const View& query, const View& key) {
  View scores = query;
  scores.dim[3] = key.dim[2];
  return scores;
}

bool has_flag(const KernelUse& use, uint32_t flag) { return (use.key.spec[kFlags] & flag) != 0; }

// The kernel for this number of queries: what a tuning says, else the narrowest that makes all of them at once, else the
// widest.
uint32_t find_kernel(const KernelList& kernels, int64_t queries, uint32_t size_class, bool vec4) {
  uint32_t found = 0;
  bool none = true;
  for (uint32_t i = 0; i < kernels.count; ++i) {
    const KernelUse& use = kernels.uses[i];
    if (is_combine(use) || has_flag(use, HEED_ATTENTION_PARTIAL)) continue;
    const bool has_alternative = i + 1 < kernels.count && kernels.uses[i + 1].alternative;
    if ((has_alternative && !vec4) || (use.alternative && vec4)) continue;
    if ((use.tuned >> size_class & 1) != 0) return i;
    const uint32_t old = queries_of(kernels.uses[found]), now = queries_of(use);
    const bool better = old < queries ? now > old : now >= queries && now < old;
    if (none || better) found = i;
    none = false;
  }
  return found;
}

// The same kernel for splits of the keys, which select adds behind it; `kernel` itself where there is none.
uint32_t find_split_kernel(const KernelList& kernels, uint32_t kernel) {
  const uint32_t next = kernel + 1;
  const bool found = next < kernels.count && !is_combine(kernels.uses[next]) &&
                     !is_subgroup_kernel(kernels.uses[next]) &&
                     has_flag(kernels.uses[next], HEED_ATTENTION_PARTIAL);
  return found ? next : kernel;
}

}  // namespace

Status select_attention(const Select& select) {
  const Node& node = select.node;
  if (!fuses_attention(select.schedule.sizes, select.schedule.tensors, node, select.device))
    return select.unsupported("no fused kernel; plan it as matmul, softmax and matmul");
  const TensorInfo& query = select.info(in::kQuery);
  if (select.max_of(query.dims[1]) > kMostHeads)
    return select.unsupported(format("%lld heads; at most %lld are possible",
                                     static_cast<long long>(select.max_of(query.dims[1])),
                                     static_cast<long long>(kMostHeads)));
  KernelId id{};
  Status status = pick_storage(select, query.dtype, KernelId::AttentionF32, KernelId::AttentionF16, &id);
  if (status == Status::Ok) status = expect_dtype(select, in::kAttentionKeyPadding, "key_padding", DType::U8);
  if (status == Status::Ok) status = expect_dtype(select, in::kAttentionMask, "mask", DType::U8);
  if (status == Status::Ok) status = expect_dtype(select, in::kAttentionBias, "bias", query.dtype);
  if (status != Status::Ok) return status;
  const int64_t d_k = head_size(select.schedule.sizes, query);
  const int64_t d_v = head_size(select.schedule.sizes, select.info(in::kValue));
  const bool f32 = query.dtype == DType::F32;
  if (uses_subgroups(select.device, query.dtype)) {
    add_subgroup_kernels(select, d_k, d_v, select.max_of(query.dims[2]),
                         !select.schedule.sizes.is_constant(query.dims[2]));
    return Status::Ok;
  }
  const Need need{select.schedule.sizes, select.schedule.tensors, select.schedule.max_values, node,
                  select.device};
  const Shapes shapes = shapes_for(need);
  for (uint32_t i = 0; i < shapes.count; ++i) {
    const Shape& shape = shapes.shapes[i];
    const bool few = shape.invocations == kFewInvocations;
    const char* why = f32 ? "fused, online softmax over key tiles; f32 storage, f32 sums"
                          : "fused, online softmax over key tiles; f16 storage, f32 sums";
    if (few)
      why = f32 ? "fused, for few queries; f32 storage, f32 sums"
                : "fused, for few queries; f16 storage, f32 sums";
    add_shape(select, id, shape, d_k, d_v, false, why);
    if (node.workspace.valid() && most_splits(need, shape) > 1)
      add_shape(select, id, shape, d_k, d_v, true, "fused, keys split over workgroups to fill the device");
  }
  if (node.workspace.valid()) add_combine(select, d_v, flags_of(select));
  return Status::Ok;
}

namespace {

// All but the splits.
AttentionParams params_of(const Emit& emit, const View& q, const View& k, const View& v) {
  const auto& attrs = emit.node.as<AttentionAttrs>();
  const View scores = scores_of(q, k);
  AttentionParams p{};
  p.offset[0] = u32(q.offset);
  p.offset[1] = u32(k.offset);
  p.offset[2] = u32(v.offset);
  p.offset[kOutBinding] = u32(emit.out().offset);
  if (emit.node.outputs[out::kLogSumExp].valid())
    p.offset[kLogSumExpBinding] =
        u32(resolve(emit.schedule, emit.node.outputs[out::kLogSumExp], emit.values).offset);
  p.batch_heads = u32(q.dim[0] * q.dim[1]);
  p.s_q = u32(q.dim[2]), p.s_kv = u32(k.dim[2]);
  p.q_b = u32(q.stride[0]), p.q_h = u32(q.stride[1]), p.q_s = u32(q.stride[2]);
  p.k_b = u32(k.stride[0]), p.k_h = u32(k.stride[1]), p.k_s = u32(k.stride[2]);
  p.v_b = u32(v.stride[0]), p.v_h = u32(v.stride[1]), p.v_s = u32(v.stride[2]);
  if (emit.has(in::kAttentionKeyPadding)) {
    const View padding = emit.in(in::kAttentionKeyPadding);
    p.offset[3] = u32(padding.offset);
    p.key_padding_b = u32(padding.stride[0]);
  }
  if (emit.has(in::kAttentionMask)) {
    const View mask = broadcast_to(emit.in(in::kAttentionMask), scores);
    p.offset[4] = u32(mask.offset);
    p.mask_b = u32(mask.stride[0]), p.mask_h = u32(mask.stride[1]);
    p.mask_q = u32(mask.stride[2]), p.mask_k = u32(mask.stride[3]);
  }
  if (emit.has(in::kAttentionBias)) {
    const View bias = broadcast_to(emit.in(in::kAttentionBias), scores);
    p.offset[5] = u32(bias.offset);
    p.bias_b = u32(bias.stride[0]), p.bias_h = u32(bias.stride[1]);
    p.bias_q = u32(bias.stride[2]), p.bias_k = u32(bias.stride[3]);
  }
  p.seed = emit.values.seed;
  p.stream = attrs.dropout.stream;
  return p;
}

}  // namespace

void emit_attention(const Emit& emit) {
  const View q = emit.in(in::kQuery), k = emit.in(in::kKey), v = emit.in(in::kValue);
  AttentionParams p = params_of(emit, q, k, v);
  uint32_t kernel = find_kernel(emit.kernels, q.dim[2], attention_class(p.s_q, p.s_kv, p.batch_heads), is_vec4(q) && is_vec4(k) && is_vec4(v));
  const uint32_t per_group = queries_of(emit.kernels.uses[kernel]);
  int64_t groups = ceil_div<int64_t>(p.s_q, per_group) * p.batch_heads;
  const uint32_t split_kernel = find_split_kernel(emit.kernels, kernel);
  uint32_t splits = 1;
  if (split_kernel != kernel) {
    const KernelUse& use = emit.kernels.uses[split_kernel];
    splits = u32(
        splits_that_fit(emit, splits_for(emit.device, groups, use.key.spec[0], p.s_kv), use.key.spec[kBk]));
  }
  if (splits > 1) {
    kernel = split_kernel;
    groups *= splits;
    p.offset[kOutBinding] = 0;
  }
  p.heads_splits = u32(q.dim[1]) | splits << 16;

  Dispatch& dispatch = emit.dispatches->add();
  dispatch.kernel = kernel;
  dispatch.groups = fold_groups(groups);
  dispatch.work = 2.0 * static_cast<double>(groups / splits) * per_group * p.s_kv *
                  static_cast<double>(q.dim[3] + v.dim[3]);
  dispatch.set_push(p);
  if (splits > 1) emit_combine(emit, splits);
}

int64_t attention_workspace(const Need& need) {
  if (!fuses_attention(need.sizes, need.tensors, need.node, need.device) || !can_combine(need)) return 0;
  if (uses_subgroups(need.device, need.info(in::kQuery).dtype)) return 0;
  const Shapes shapes = shapes_for(need);
  int64_t most = 0;
  for (uint32_t i = 0; i < shapes.count; ++i) {
    const Shape& shape = shapes.shapes[i];
    const int64_t queries = shape.invocations == kFewInvocations ? shape.queries() : INT64_MAX;
    most = std::max(most, split_elements(need, queries, most_splits(need, shape)));
  }
  return most;
}

}  // namespace kernels
}  // namespace heed

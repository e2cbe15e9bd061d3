#include "kernels/attention.hpp"

#include <algorithm>

#include "kernels/operations.hpp"

namespace heed {
namespace {

constexpr int64_t kMaxHead = 256;  // elements of a key or value of one head

// Rows of this tensor can be read with an innermost stride of 1.
bool has_dense_rows(const SizeTable& sizes, std::span<const TensorInfo> tensors, Tensor tensor) {
  if (!tensor.valid()) return true;
  const TensorInfo& info = tensors[tensor.id];
  const auto last = static_cast<size_t>(info.rank - 1);
  return sizes.is_constant(info.strides[last], 1) || sizes.is_constant(info.dims[last], 1);
}

bool fits_head(int64_t size) { return size >= 1 && size <= kMaxHead; }

}  // namespace

bool fuses_attention(const SizeTable& sizes, std::span<const TensorInfo> tensors, const Node& node,
                     const Capabilities& device) {
  using namespace kernels::attention;
  if (node.op != Op::Attention || node.outputs[out::kWeights].valid()) return false;
  const DType dtype = tensors[node.inputs[in::kQuery].id].dtype;
  if (dtype != DType::F32 && !(kernels::is_16_bit_float(dtype) && device.storage_16bit)) return false;
  for (const size_t input : {in::kQuery, in::kKey, in::kValue, in::kAttentionKeyPadding})
    if (!has_dense_rows(sizes, tensors, node.inputs[input])) return false;
  const Heads heads = heads_of(sizes, tensors, node);
  if (!fits_head(heads.d_k) || !fits_head(heads.d_v)) return false;
  if (uses_subgroups(device, dtype) || allows_tiles(device, dtype)) return true;
  Candidates candidates;
  list_matrix(device, dtype, heads, INT64_MAX, &candidates);
  return candidates.count > 0;
}

namespace kernels {
namespace attention {
namespace {

constexpr int64_t kMostHeads = 0xffffff;  // what AttentionParams can say

// What may run an attention: what rules ask for, in the order of preference, and what a tuning asks for.
struct Choice {
  Heads heads;
  Candidates candidates;
  const char* without = nullptr;  // why no matrix units
};

// Every kernel that could run it, the usual ones marked.
Choice every_kernel(const Need& need) {
  const TensorInfo& query = need.info(in::kQuery);
  const int64_t most_queries = need.max_of(query.dims[2]);
  Choice choice;
  choice.heads = heads_of(need.sizes, need.tensors, need.node);
  const Heads& heads = choice.heads;
  const bool subgroups = uses_subgroups(need.device, query.dtype), tiles = allows_tiles(need.device, query.dtype);
  Candidates& found = choice.candidates;
  list_workgroup_matrix(need.device, query.dtype, heads, most_queries, &found);
  choice.without = list_matrix(need.device, query.dtype, heads, most_queries, &found);
  const bool can_matrix = found.count > 0 && choice.without == nullptr;
  const bool only_matrix = can_matrix && need.device.matrix_always;
  // Of few queries most of a matrix would be padding.
  const bool matrix = only_matrix || (can_matrix && !subgroups && !(tiles && most_queries <= few_queries(heads)));
  if (!matrix)
    for (uint32_t i = 0; i < found.count; ++i) found.list[i].usual = false;
  const uint32_t others = found.count;
  if (subgroups) list_subgroups(need, heads, &found);
  if (tiles) list_tiles(need, heads, !subgroups, matrix, &found);
  if (only_matrix)
    for (uint32_t i = others; i < found.count; ++i) found.list[i].usual = false;
  const auto is_usual = [](const Candidate& candidate) { return candidate.usual; };
  if (std::none_of(found.list.begin(), found.list.begin() + found.count, is_usual))
    found.list[found.count - 1].usual = true;
  return choice;
}

Choice choice_for(const Need& need) {
  Choice choice = every_kernel(need);
  const Tuning* tuning = need.device.tuning.get();
  const auto is_wanted = [&](const Candidate& candidate) {
    if (candidate.usual || tuning == nullptr) return candidate.usual;
    const Cut& cut = candidate.cut;
    return tuning->lists_all ||
           tuning->classes_of(attention_variant(kernel_info(candidate.id).name, cut.invocations, cut.queries)) != 0;
  };
  Candidates wanted;
  for (uint32_t i = 0; i < choice.candidates.count; ++i)
    if (is_wanted(choice.candidates.list[i])) wanted.add(choice.candidates.list[i]);
  choice.candidates = wanted;
  return choice;
}

void add_candidate(const Select& select, const Choice& choice, const Candidate& candidate) {
  const uint32_t first = select.kernels->count;
  bool alternative = false;
  if (candidate.id == KernelId::AttentionF16MatrixNv2) {
    add_workgroup_matrix(select, choice.heads, candidate);
  } else if (candidate.id == KernelId::AttentionF16Matrix) {
    add_matrix(select, choice.heads, candidate);
    alternative = first > 0 && candidate.usual;  // behind those of whole workgroups
  } else if (is_subgroups(candidate.id)) {
    add_subgroups(select, choice.heads, candidate);
  } else {
    add_tiles(select, choice.heads, candidate, choice.without);
  }
  for (uint32_t i = first; i < select.kernels->count; ++i) {
    KernelUse& use = select.kernels->uses[i];
    use.only_tuned = !candidate.usual;
    use.alternative = use.alternative || alternative;
  }
}

// At one run the fewest workgroups, which get the most splits.
int64_t most_splits(const Need& need, const Cut& cut) {
  const TensorInfo& query = need.info(in::kQuery);
  int64_t groups = 1;
  for (const size_t i : {size_t{0}, size_t{1}, size_t{2}}) {
    int64_t count = need.sizes.is_constant(query.dims[i]) ? need.max_of(query.dims[i]) : 1;
    if (i == 2) count = ceil_div<int64_t>(count, cut.queries);
    groups = std::min(groups * std::min(count, kMostGroups), kMostGroups);
  }
  return splits_for(need.device, groups, cut.invocations, need.max_of(need.info(in::kKey).dims[2]));
}

bool is_partial(const KernelUse& use) { return (use.key.spec[kFlags] & HEED_ATTENTION_PARTIAL) != 0; }

// What some kernels demand of their operands, known at a run only.
struct Operands {
  const View &q, &k, &v;

  bool suit(const KernelKey& key) const {
    if (key.id == KernelId::AttentionF16MatrixNv2)
      return begins_on_16_bytes(q) && begins_on_16_bytes(k) && begins_on_16_bytes(v);
    if (!is_subgroups(key.id) || (key.spec[kFlags] & HEED_ATTENTION_VEC4) == 0) return true;
    return is_vec4(q) && is_vec4(k) && is_vec4(v);
  }
};

// The kernel for this number of queries: what a tuning says, else the narrowest that makes all of them at once, else the
// widest.
uint32_t find_kernel(const KernelList& kernels, int64_t queries, uint32_t size_class, const Operands& operands) {
  constexpr uint32_t kNone = UINT32_MAX;
  uint32_t tuned = kNone, found = kNone;
  bool suits_before = false;
  for (uint32_t i = 0; i < kernels.count; ++i) {
    const KernelUse& use = kernels.uses[i];
    if (is_combine(use) || is_partial(use)) continue;
    const bool suits = operands.suit(use.key), stands_back = use.alternative && suits_before;
    if (!use.only_tuned) suits_before = suits;
    if (!suits) continue;
    if (tuned == kNone && (use.tuned >> size_class & 1) != 0) tuned = i;
    if (use.only_tuned || stands_back) continue;
    const uint32_t old = found == kNone ? 0 : queries_of(kernels.uses[found].key), now = queries_of(use.key);
    if (old < queries ? now > old : now >= queries && now < old) found = i;
  }
  return tuned != kNone ? tuned : found;
}

// The same kernel for splits of the keys, which select adds behind it; `kernel` itself where there is none.
uint32_t find_split_kernel(const KernelList& kernels, uint32_t kernel) {
  const uint32_t next = kernel + 1;
  return next < kernels.count && !is_combine(kernels.uses[next]) && is_partial(kernels.uses[next]) ? next : kernel;
}

Status check_types(const Select& select) {
  const DType dtype = select.info(in::kQuery).dtype;
  Status status = check_storage(select, dtype);
  if (status == Status::Ok) status = expect_dtype(select, in::kAttentionKeyPadding, "key_padding", DType::U8);
  if (status == Status::Ok) status = expect_dtype(select, in::kAttentionMask, "mask", DType::U8);
  if (status == Status::Ok) status = expect_dtype(select, in::kAttentionBias, "bias", dtype);
  return status;
}

}  // namespace

uint32_t queries_of(const KernelKey& key) {
  const auto& spec = key.spec;
  if (is_subgroups(key.id)) return spec[kTq];
  if (is_matrix(key)) return spec[kWavesM] * spec[kWm];
  if (key.id == KernelId::AttentionF16MatrixNv2) return spec[kBm];
  return spec[0] / spec[kLanes] * spec[kTq];
}

void add_with_splits(const Select& select, const Cut& cut, const KernelUse& use) {
  if (!select.node.workspace.valid() || most_splits(select.need(), cut) <= 1) return;
  KernelUse& split = select.kernels->add() = use;
  split.why = "fused, keys split over workgroups to fill the device";
  split.key.spec[kFlags] |= HEED_ATTENTION_PARTIAL;
  split.buffers[kOutBinding].tensor = select.node.workspace;
  split.buffers[kLogSumExpBinding].tensor = select.node.workspace;  // the second pass stores it
}

}  // namespace attention

Status select_attention(const Select& select) {
  using namespace attention;
  const Node& node = select.node;
  if (!fuses_attention(select.schedule.sizes, select.schedule.tensors, node, select.device))
    return select.unsupported("no fused kernel; plan it as matmul, softmax and matmul");
  const TensorInfo& query = select.info(in::kQuery);
  if (select.max_of(query.dims[1]) > kMostHeads)
    return select.unsupported(format("%lld heads; at most %lld are possible",
                                     static_cast<long long>(select.max_of(query.dims[1])),
                                     static_cast<long long>(kMostHeads)));
  const Status status = check_types(select);
  if (status != Status::Ok) return status;
  const Choice choice = choice_for(select.need());
  for (uint32_t i = 0; i < choice.candidates.count; ++i) add_candidate(select, choice, choice.candidates.list[i]);
  if (node.workspace.valid()) add_combine(select, choice.heads.d_v, flags_of(select));
  return Status::Ok;
}

void emit_attention(const Emit& emit) {
  using namespace attention;
  const View q = emit.in(in::kQuery), k = emit.in(in::kKey), v = emit.in(in::kValue);
  AttentionParams p = params_of(emit, q, k, v);
  const uint32_t size_class = attention_class(p.s_q, p.s_kv, p.batch_heads, std::max(q.dim[3], v.dim[3]));
  uint32_t kernel = find_kernel(emit.kernels, q.dim[2], size_class, {q, k, v});
  const uint32_t per_group = queries_of(emit.kernels.uses[kernel].key);
  int64_t groups = ceil_div<int64_t>(p.s_q, per_group) * p.batch_heads;
  const uint32_t split_kernel = find_split_kernel(emit.kernels, kernel);
  uint32_t splits = 1;
  if (split_kernel != kernel) {
    const KernelUse& use = emit.kernels.uses[split_kernel];
    splits = u32(splits_that_fit(emit, splits_for(emit.device, groups, use.key.spec[0], p.s_kv), use.key.spec[kBk]));
  }
  if (splits > 1) {
    kernel = split_kernel;
    groups *= splits;
    p.offset[kOutBinding] = 0;
  }
  p.heads_splits = u32(q.dim[1]) | (splits - 1) << 24;

  Dispatch& dispatch = emit.dispatches->add();
  dispatch.kernel = kernel;
  dispatch.groups = fold_groups(groups);
  dispatch.work =
      2.0 * static_cast<double>(groups / splits) * per_group * p.s_kv * static_cast<double>(q.dim[3] + v.dim[3]);
  dispatch.set_push(p);
  if (splits > 1) emit_combine(emit, splits);
}

int64_t attention_workspace(const Need& need) {
  using namespace attention;
  if (!fuses_attention(need.sizes, need.tensors, need.node, need.device) || !can_combine(need)) return 0;
  const Choice choice = choice_for(need);
  int64_t most = 0;
  for (uint32_t i = 0; i < choice.candidates.count; ++i) {
    const Candidate& candidate = choice.candidates.list[i];
    if (!is_subgroups(candidate.id))  // they are for CPUs, which a few workgroups fill
      most = std::max(most, split_elements(need, candidate.cut.most_queries, most_splits(need, candidate.cut)));
  }
  return most;
}

}  // namespace kernels
}  // namespace heed

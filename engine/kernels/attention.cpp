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
  return uses_subgroups(device, dtype) || allows_tiles(device, dtype) ||
         matrix_for(device, dtype, heads, INT64_MAX).possible;
}

namespace kernels {
namespace attention {
namespace {

constexpr int64_t kMostHeads = 0xffffff;  // what AttentionParams can say

// The families of kernels that an attention uses.
struct Families {
  Heads heads;
  Matrix matrix;
  bool subgroups = false;
  bool tiles = false;
  bool only_few = false;  // of the tiles
};
Families families_for(const Need& need) {
  const TensorInfo& query = need.info(in::kQuery);
  Families families;
  families.heads = heads_of(need.sizes, need.tensors, need.node);
  const int64_t most_queries = need.max_of(query.dims[2]);
  families.matrix = matrix_for(need.device, query.dtype, families.heads, most_queries);
  if (families.matrix.possible && need.device.matrix_always) return families;
  families.subgroups = uses_subgroups(need.device, query.dtype);
  families.tiles = !families.subgroups && allows_tiles(need.device, query.dtype);
  // Of few queries most of a matrix would be padding.
  if (families.subgroups || (families.tiles && most_queries <= few_queries(families.heads)))
    families.matrix = {};
  families.only_few = families.matrix.possible;
  return families;
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

// The kernel for this number of queries: what a tuning says, else the narrowest that makes all of them at once, else the
// widest.
uint32_t find_kernel(const KernelList& kernels, int64_t queries, uint32_t size_class, bool vec4) {
  uint32_t found = 0;
  bool none = true;
  for (uint32_t i = 0; i < kernels.count; ++i) {
    const KernelUse& use = kernels.uses[i];
    if (is_combine(use) || is_partial(use)) continue;
    const bool has_alternative = i + 1 < kernels.count && kernels.uses[i + 1].alternative;
    if ((has_alternative && !vec4) || (use.alternative && vec4)) continue;
    if ((use.tuned >> size_class & 1) != 0) return i;
    const uint32_t old = queries_of(kernels.uses[found].key), now = queries_of(use.key);
    const bool better = old < queries ? now > old : now >= queries && now < old;
    if (none || better) found = i;
    none = false;
  }
  return found;
}

// The same kernel for splits of the keys, which select adds behind it; `kernel` itself where there is none.
uint32_t find_split_kernel(const KernelList& kernels, uint32_t kernel) {
  const uint32_t next = kernel + 1;
  return next < kernels.count && !is_combine(kernels.uses[next]) && is_partial(kernels.uses[next]) ? next
                                                                                                   : kernel;
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
  if (is_subgroups(key)) return spec[kTq];
  if (is_matrix(key)) return spec[kWavesM] * spec[kWm];
  return spec[0] / spec[kLanes] * spec[kTq];
}

int64_t workspace_of(const Need& need, const Cut& cut) {
  return split_elements(need, cut.most_queries, most_splits(need, cut));
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
  const Families families = families_for(select.need());
  if (families.subgroups) {
    add_subgroups(select, families.heads);
    return Status::Ok;
  }
  if (families.matrix.possible) add_matrix(select, families.heads, families.matrix);
  if (families.tiles) add_tiles(select, families.heads, families.only_few, families.matrix.without);
  if (node.workspace.valid()) add_combine(select, families.heads.d_v, flags_of(select));
  return Status::Ok;
}

void emit_attention(const Emit& emit) {
  using namespace attention;
  const View q = emit.in(in::kQuery), k = emit.in(in::kKey), v = emit.in(in::kValue);
  AttentionParams p = params_of(emit, q, k, v);
  uint32_t kernel = find_kernel(emit.kernels, q.dim[2], attention_class(p.s_q, p.s_kv, p.batch_heads),
                                is_vec4(q) && is_vec4(k) && is_vec4(v));
  const uint32_t per_group = queries_of(emit.kernels.uses[kernel].key);
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
  p.heads_splits = u32(q.dim[1]) | (splits - 1) << 24;

  Dispatch& dispatch = emit.dispatches->add();
  dispatch.kernel = kernel;
  dispatch.groups = fold_groups(groups);
  dispatch.work = 2.0 * static_cast<double>(groups / splits) * per_group * p.s_kv *
                  static_cast<double>(q.dim[3] + v.dim[3]);
  dispatch.set_push(p);
  if (splits > 1) emit_combine(emit, splits);
}

int64_t attention_workspace(const Need& need) {
  using namespace attention;
  if (!fuses_attention(need.sizes, need.tensors, need.node, need.device) || !can_combine(need)) return 0;
  const Families families = families_for(need);
  int64_t most = families.matrix.possible ? workspace_of(need, families.matrix.cut()) : 0;
  if (!families.tiles) return most;
  const Cuts cuts = tiles_for(need, families.heads, families.only_few);
  for (uint32_t i = 0; i < cuts.count; ++i) most = std::max(most, workspace_of(need, cuts.cuts[i]));
  return most;
}

}  // namespace kernels
}  // namespace heed

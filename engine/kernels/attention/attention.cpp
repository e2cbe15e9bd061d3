#include "kernels/attention/attention.hpp"

#include <algorithm>

#include "kernels/operations.hpp"

namespace heed::kernels {
namespace attention {
namespace {

constexpr int64_t kMaxHead = 256;  // elements of a key or value of one head

// Whether rows of a tensor, if given, have contiguous elements.
bool has_dense_rows(const SizeTable& sizes, std::span<const TensorInfo> tensors, Tensor tensor) {
  if (!tensor.valid()) return true;
  const TensorInfo& info = tensors[tensor.id];
  const auto last = static_cast<size_t>(info.rank - 1);
  return sizes.is_constant(info.strides[last], 1) || sizes.is_constant(info.dims[last], 1);
}

bool fits_head(int64_t size) { return size >= 1 && size <= kMaxHead; }

// An additional kernel is kept if it is this many times faster at some size.
constexpr double kWorth = 1.5;
constexpr int64_t kMostHeads = 0xffffff;  // AttentionParams has 24 bits for their number

Candidates list_all(const AttentionQuery& attention) {
  Candidates candidates;
  if (!fits_head(attention.heads.d_k) || !fits_head(attention.heads.d_v)) return candidates;  // an extent counts as 0
  const char* without = list_matrix(attention, &candidates);
  const bool has_vector = list_vector(attention, &candidates);
  list_tiles(attention, without, !has_vector, &candidates);
  candidates.measured_on(attention.device);
  return candidates;
}

uint32_t keep_some(const Need& need, const Heads& heads, const Candidates& candidates) {
  const TensorInfo &query = need.info(in::kQuery), &key = need.info(in::kKey);
  return keep(need, candidates, kWorth, [&](std::span<const int64_t> sizes) {
    const auto size = [&](SizeId id) { return sizes[static_cast<size_t>(id)]; };
    return Problem{size(query.dims[2]), size(key.dims[2]), size(query.dims[0]) * size(query.dims[1]),
                   std::max(heads.d_k, heads.d_v)};
  });
}

// `tensors` are those of a graph, or of its schedule.
AttentionQuery attention_query(const Capabilities& device, const SizeTable& sizes, std::span<const TensorInfo> tensors,
                               const Node& node) {
  const DType queries = tensors[node.inputs[in::kQuery].id].dtype, keys = tensors[node.inputs[in::kKey].id].dtype;
  return {device, queries, queries != keys, heads_of(sizes, tensors, node)};
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

Candidate& add_queries(Candidates* candidates, KernelId id, uint32_t invocations, uint32_t queries) {
  Candidate& one = candidates->add(id, {invocations, 1, 1});
  one.traits.rows = queries;
  return one;
}

uint32_t queries_of(const KernelKey& key) {
  const auto& spec = key.spec;
  if (is_vector(key.id)) return spec[VectorSpec::TQ];
  if (is_matrix(key)) return spec[MatrixSpec::WAVES_M] * spec[MatrixSpec::WM];
  return spec[0] / spec[TileSpec::LANES] * spec[TileSpec::TQ];
}

uint32_t tile_keys_of(const KernelKey& key) {
  if (is_vector(key.id)) return key.spec[0] / key.spec[VectorSpec::LANES] * key.spec[VectorSpec::TK];
  if (is_matrix(key)) return key.spec[MatrixSpec::BK];
  return key.spec[TileSpec::BK];
}

void emit_blocks(const Emit& emit, const Work& work, uint32_t kernel, AttentionParams p, int64_t begin, int64_t end,
                 int64_t splits) {
  const int64_t keys = emit.node.as<AttentionAttrs>().softmax.visited_keys(work.problem.keys, work.use.traits.rows);
  const double per_query = 2.0 * static_cast<double>(keys * (work.heads.d_k + work.heads.d_v));
  p.end_block = u32(end);
  p.heads_splits |= u32(splits - 1) << 24;
  Dispatch& dispatch = emit.dispatches->add();
  dispatch.kernel = kernel;
  dispatch.groups = fold_groups((end - begin) * splits);
  dispatch.work = per_query * static_cast<double>((end - begin) * work.use.traits.rows);
  dispatch.set_push(p);
}

}  // namespace attention

bool fuses_attention(const SizeTable& sizes, std::span<const TensorInfo> tensors, const Node& node,
                     const Capabilities& device) {
  using namespace attention;
  if (node.outputs[out::kWeights].valid() || !row_bindings(node).fit) return false;
  const DType dtype = tensors[node.inputs[in::kQuery].id].dtype;
  if (dtype != DType::F32 && !(is_16_bit_float(dtype) && device.storage_16bit)) return false;
  for (const size_t input : {in::kQuery, in::kKey, in::kValue, in::kAttentionKeyPadding})
    if (!has_dense_rows(sizes, tensors, node.inputs[input])) return false;
  return list_all(attention_query(device, sizes, tensors, node)).count > 0;
}

Status select_attention(const Select& select) {
  using namespace attention;
  const Node& node = select.node;
  const TensorInfo& query = select.info(in::kQuery);
  if (select.max_of(query.dims[1]) > kMostHeads)
    return select.unsupported(format("%lld heads; at most %lld are possible",
                                     static_cast<long long>(select.max_of(query.dims[1])),
                                     static_cast<long long>(kMostHeads)));
  if (!row_bindings(node).fit)
    return select.unsupported(
        "the log-sum-exp is not possible with all of key_padding, mask and bias beside lengths or positions");
  const Status status = check_types(select);
  if (status != Status::Ok) return status;
  const Need need = select.need();
  const Heads heads = heads_of(need.sizes, need.tensors, node);
  const Candidates candidates = list_all(attention_query(select.device, need.sizes, need.tensors, node));
  if (candidates.count == 0)
    return select.unsupported(
        "no fused kernel, which alone gives the log-sum-exp: d_k and d_v must be constants up to 256");
  const auto known = [&](int64_t width) {
    Vec4 worst = Vec4::Always;
    for (const size_t input : {in::kQuery, in::kKey, in::kValue})
      worst = worse(worst, vec4_of(select, node.inputs[input], width));
    return worst;
  };
  const auto add_both = [&](const Candidate& candidate, bool vec4) {
    add(select, heads, candidate, vec4);
    add_partial(select, heads, candidate, select.kernels->count - 1);
  };
  add_kept(select, candidates, keep_some(need, heads, candidates), known(4), add_both, known(8));
  if (node.workspace.valid()) add_combine(select, heads);
  return Status::Ok;
}

void emit_attention(const Emit& emit) {
  using namespace attention;
  const View q = emit.in(in::kQuery), k = emit.in(in::kKey), v = emit.in(in::kValue);
  const AttentionParams p = params_of(emit, q, k, v);
  const Heads heads = {q.dim[3], v.dim[3]};
  const auto whole = [&](int64_t width) { return is_vec4(q, width) && is_vec4(k, width) && is_vec4(v, width); };
  const bool vec4 = whole(4), vec8 = vec4 && whole(8);
  const Problem problem = {q.dim[2], k.dim[2], q.dim[0] * q.dim[1], std::max(heads.d_k, heads.d_v), vec4, vec8};
  const uint32_t kernel = choose(emit.kernels, problem);
  const Work work = {problem, heads, emit.kernels.uses[kernel]};
  const Splits splits = splits_of(emit, work);
  if (splits.count > 1)
    emit_splits(emit, work, p, splits);
  else
    emit_blocks(emit, work, kernel, p, 0, work.blocks(), 1);
}

int64_t attention_workspace(const Need& need) {
  using namespace attention;
  if (!can_combine(need)) return 0;
  const Heads heads = heads_of(need.sizes, need.tensors, need.node);
  const Candidates candidates = list_all(attention_query(need.device, need.sizes, need.tensors, need.node));
  const uint32_t kept = keep_some(need, heads, candidates);
  int64_t most = 0;
  for (uint32_t i = 0; i < candidates.count; ++i)
    if ((kept >> i & 1) != 0) most = std::max(most, split_elements(need, heads, candidates.list[i]));
  return most;
}

}  // namespace heed::kernels

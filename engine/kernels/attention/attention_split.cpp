// Attention over splits of the keys ("flash decoding"): each workgroup processes one split and stores its sums in the pass's workspace; a
// second dispatch combines them. Splits fill a GPU if there are too few queries and heads, and they bound the time of a workgroup if there
// are many keys.
#include <algorithm>

#include "kernels/attention/attention.hpp"

namespace heed::kernels::attention {
namespace {

// Invocations that keep a core busy: four workgroups of 128.
constexpr int64_t kFillingInvocations = 512;
// With fewer keys per split, combining costs more than splitting gains. Larger workgroups have more queries to combine, so the bound is per
// invocation.
constexpr int64_t kLeastKeysPerInvocation = 8;
// The same for a group of lanes that has its own keys.
constexpr int64_t kLeastKeysPerGroup = 32;
// This many workgroups fill any device.
constexpr int64_t kMostGroups = 4096;
// AttentionParams has eight bits for the number of splits.
constexpr int64_t kMostSplits = 256;
// A range of blocks takes two dispatches.
constexpr int64_t kMostRanges = kMaxDispatchesPerPass / 2;
// Floats of workspace: 16 MiB, or up to 256 MiB if there would be too many ranges otherwise.
constexpr int64_t kUsualElements = 4 << 20, kMostElements = 64 << 20;
// A workgroup on matrix units is at least as fast as this many invocations.
constexpr int64_t kLeastSpeed = 128;

constexpr ByStorage kCombineIds = {KernelId::AttentionCombineF32, KernelId::AttentionCombineF16,
                                   KernelId::AttentionCombineBf16};

// Floats that a split stores for each query.
int64_t row_elements(const Heads& heads) { return heads.d_v + 2; }

int64_t least_keys(const KernelKey& key) {
  const int64_t invocations = key.spec[0];
  if (is_vector(key.id)) return kLeastKeysPerGroup * invocations / key.spec[VectorSpec::LANES];
  return kLeastKeysPerInvocation * invocations;
}

// The number of splits that fills the device: 1 if `groups` workgroups already do, or if there are few keys.
int64_t splits_to_fill(const Capabilities& device, int64_t groups, const KernelKey& key, int64_t keys) {
  const int64_t invocations = key.spec[0], filling = device.cores * kFillingInvocations / invocations;
  const int64_t splits = std::min(filling / std::max<int64_t>(groups, 1), keys / least_keys(key));
  return std::clamp<int64_t>(splits, 1, kMostSplits);
}

// The number of splits that bounds the time of a workgroup.
int64_t splits_in_time(const Capabilities& device, const Heads& heads, const KernelKey& key, int64_t keys) {
  return std::min(ceil_div(keys, keys_in_time(device, heads, key)), kMostSplits);
}

// The most keys that a workgroup visits in any run.
int64_t most_keys(const Need& need, const KernelKey& key) {
  return need.node.as<AttentionAttrs>().softmax.visited_keys(need.max_of(need.info(in::kKey).dims[2]), queries_of(key));
}

// The most splits of any run, which is the run with the fewest workgroups.
int64_t most_to_fill(const Need& need, const Candidate& candidate) {
  const TensorInfo& query = need.info(in::kQuery);
  int64_t groups = 1;
  for (const size_t i : {size_t{0}, size_t{1}, size_t{2}}) {
    int64_t count = need.sizes.is_constant(query.dims[i]) ? need.max_of(query.dims[i]) : 1;
    if (i == 2) count = ceil_div<int64_t>(count, candidate.traits.rows);
    groups = std::min(groups * std::min(count, kMostGroups), kMostGroups);
  }
  return splits_to_fill(need.device, groups, candidate.key, most_keys(need, candidate.key));
}

// Combines rows first .. first + count - 1.
void emit_combine(const Emit& emit, const Work& work, AttentionCombineParams p, int64_t first, int64_t count) {
  p.first_row = u32(first), p.rows = u32(count);
  Dispatch& dispatch = emit.dispatches->add();
  dispatch.kernel = emit.kernels.uses[work.use.partner].partner;
  dispatch.groups = fold_groups(ceil_div<int64_t>(count * ceil_div<int64_t>(work.heads.d_v, 4), kInvocations));
  dispatch.work = static_cast<double>(count * p.splits * row_elements(work.heads)) * sizeof(float);
  dispatch.workspace_bytes = dispatch.work;
  dispatch.set_push(p);
}

}  // namespace

int64_t keys_in_time(const Capabilities& device, const Heads& heads, const KernelKey& key) {
  const int64_t speed = is_matrix(key) ? std::max<int64_t>(key.spec[0], kLeastSpeed) : key.spec[0];
  const int64_t tile_work = 2 * (heads.d_k + heads.d_v) * queries_of(key) * tile_keys_of(key);
  const int64_t tiles = std::max<int64_t>(device.invocation_work * speed / tile_work, 1);
  return tiles * tile_keys_of(key);
}

bool can_combine(const Need& need) { return need.device.allows(kCombineIds.of(need.info(in::kQuery).dtype)); }

int64_t split_elements(const Need& need, const Heads& heads, const Candidate& candidate) {
  const TensorInfo& query = need.info(in::kQuery);
  const auto elements = [&](int64_t splits) {
    int64_t product = splits * row_elements(heads);
    for (const size_t i : {size_t{0}, size_t{1}, size_t{2}}) {
      const int64_t count = need.max_of(query.dims[i]);
      product = mul_up_to(product, i == 2 ? std::min(count, candidate.most_split) : count, kMostRanges * kMostElements);
    }
    return product;
  };
  const int64_t fill = most_to_fill(need, candidate);
  const int64_t time = splits_in_time(need.device, heads, candidate.key, most_keys(need, candidate.key));
  const int64_t to_fill = fill > 1 ? std::min(elements(fill), kUsualElements) : 0;
  // Half of the ranges as a margin, since blocks do not fill the workspace exactly.
  const int64_t all = time > 1 ? elements(time) : 0, turn = ceil_div(all, kMostRanges / 2);
  const int64_t in_time = std::min(all, std::clamp(turn, kUsualElements, kMostElements));
  return std::min(std::max(to_fill, in_time), static_cast<int64_t>(need.device.max_storage_range / sizeof(float)));
}

Splits splits_of(const Emit& emit, const Work& work) {
  const auto& [problem, heads, use] = work;
  if (use.partner == kNoKernel) return {};
  const auto elements = static_cast<int64_t>(emit.schedule.placement(emit.node.workspace).bytes / sizeof(float));
  const int64_t row = row_elements(heads), block = std::min<int64_t>(use.traits.rows, problem.queries) * row;
  const int64_t at_once = elements / (problem.queries * problem.heads * row);
  const int64_t in_turns = elements / (ceil_div(work.blocks(), kMostRanges) * block);
  const int64_t keys = emit.node.as<AttentionAttrs>().softmax.visited_keys(problem.keys, use.traits.rows);
  const int64_t fill = splits_to_fill(emit.device, work.blocks(), use.key, keys);
  const int64_t time = splits_in_time(emit.device, heads, use.key, keys);
  const int64_t splits = std::max(std::min(fill, at_once), std::min(time, std::max(at_once, in_turns)));
  if (splits <= 1) return {};
  // Each split begins at a tile, and none is empty.
  const int64_t tile = tile_keys_of(use.key), keys_each = ceil_div(keys, splits * tile) * tile;
  const int64_t count = ceil_div(keys, keys_each);
  return {count, count <= at_once ? 1 : ceil_div(work.blocks(), elements / (count * block))};
}

void add_partial(const Select& select, const Heads& heads, const Candidate& candidate, uint32_t kernel) {
  if (!select.node.workspace.valid() || split_elements(select.need(), heads, candidate) == 0) return;
  KernelList& list = *select.kernels;
  KernelUse& partial = list.add() = list.uses[kernel];
  partial.role = KernelUse::Role::Partial;
  partial.why = "fused, keys split over workgroups to fill the device, or since they are many";
  partial.key.spec[Spec::FLAGS] |= HEED_ATTENTION_PARTIAL;
  partial.buffers[kOutBinding].tensor = select.node.workspace;
  BufferUse& last = partial.buffers[kLogSumExpBinding];
  if (last.write) last.tensor = select.node.workspace;  // the combining kernel writes the log-sum-exp
  list.uses[kernel].partner = list.count - 1;
}

void add_combine(const Select& select, const Heads& heads) {
  KernelUse& use = add_kernel(select, kCombineIds.of(select.out().dtype), {kInvocations, 1, 1},
                              "combines the results of the splits of the keys");
  use.key.set(AttentionCombineConstants::D_V, u32(heads.d_v));
  use.key.set(AttentionCombineConstants::FLAGS, flags_of(select) & HEED_ATTENTION_LOG_SUM_EXP);
  use.buffer_count = 3;
  use.buffers[0] = {BufferUse::Kind::Tensor, false, select.node.workspace};
  use.buffers[1] = {BufferUse::Kind::Tensor, true, select.node.outputs[0]};
  use.buffers[2] = {BufferUse::Kind::Tensor, true, log_sum_exp_or_output(select.node)};
  make_second_dispatch(select.kernels);
}

void emit_splits(const Emit& emit, const Work& work, AttentionParams p, const Splits& splits) {
  const auto first_row = [&](int64_t block) {
    const int64_t per_head = work.blocks_per_head();
    return block / per_head * work.problem.queries + block % per_head * work.use.traits.rows;
  };
  AttentionCombineParams sums{};
  sums.offset[1] = p.offset[kOutBinding];
  sums.offset[2] = p.offset[kLogSumExpBinding];
  sums.heads = p.heads_splits, sums.s_q = p.s_q, sums.splits = u32(splits.count);
  for (int64_t i = 0; i < splits.ranges; ++i) {
    const int64_t begin = work.blocks() * i / splits.ranges, end = work.blocks() * (i + 1) / splits.ranges;
    const int64_t first = first_row(begin);
    p.offset[kOutBinding] = 0;
    p.offset[kFirstBlock] = u32(begin);
    emit_blocks(emit, work, work.use.partner, p, begin, end, splits.count);
    emit_combine(emit, work, sums, first, first_row(end) - first);
  }
}

}  // namespace heed::kernels::attention

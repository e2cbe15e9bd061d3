#include "kernels/attention_split.hpp"

#include <algorithm>

namespace heed::kernels {
namespace {

// Four workgroups of 128 on each core.
constexpr int64_t kFillingInvocations = 512;
// Fewer keys per split and invocation would gain less than the second pass costs: it has more to do for more queries.
constexpr int64_t kLeastKeysPerInvocation = 8;
constexpr int64_t kMostSplits = 256;
// Elements of workspace: 16 MiB.
constexpr int64_t kMostElements = 4 << 20;

constexpr size_t kDv = 3, kFlags = 4;
constexpr uint32_t kInvocations = 128;

constexpr ByStorage kIds = {KernelId::AttentionCombineF32, KernelId::AttentionCombineF16,
                            KernelId::AttentionCombineBf16};

}  // namespace

int64_t splits_for(const Capabilities& device, int64_t groups, uint32_t invocations, int64_t keys) {
  const int64_t filling = device.cores * kFillingInvocations / invocations;
  const int64_t splits =
      std::min(filling / std::max<int64_t>(groups, 1), keys / (kLeastKeysPerInvocation * invocations));
  return std::clamp<int64_t>(splits, 1, kMostSplits);
}

bool can_combine(const Need& need) { return need.device.allows(kIds.of(need.info(in::kQuery).dtype)); }

int64_t split_elements(const Need& need, int64_t most_queries, int64_t splits) {
  if (splits <= 1) return 0;
  const TensorInfo& query = need.info(in::kQuery);
  const int64_t most = std::min<int64_t>(kMostElements, static_cast<int64_t>(need.device.max_storage_range / 4));
  int64_t elements = splits * (need.max_of(need.info(in::kValue).dims[3]) + 2);
  for (const size_t i : {size_t{0}, size_t{1}, size_t{2}}) {
    int64_t count = need.max_of(query.dims[i]);
    if (i == 2) count = std::min(count, most_queries);
    if (count > most / elements) return most;
    elements *= count;
  }
  return elements;
}

int64_t splits_that_fit(const Emit& emit, int64_t splits, int64_t tile) {
  const View query = emit.in(in::kQuery), value = emit.in(in::kValue);
  const int64_t rows = query.dim[0] * query.dim[1] * query.dim[2];
  const auto elements = static_cast<int64_t>(emit.schedule.placement(emit.node.workspace).bytes / sizeof(float));
  splits = std::min(splits, elements / (rows * (value.dim[3] + 2)));
  if (splits <= 1) return 1;
  const int64_t share = ceil_div<int64_t>(value.dim[2], splits * tile) * tile;
  return ceil_div<int64_t>(value.dim[2], share);
}

Tensor log_sum_exp_or_output(const Node& node) {
  const Tensor wanted = node.outputs[out::kLogSumExp];
  return wanted.valid() ? wanted : node.outputs[0];
}

bool is_combine(const KernelUse& use) { return kIds.has(use.key.id); }

void add_combine(const Select& select, int64_t d_v, uint32_t flags) {
  KernelUse& use = add_kernel(select, kIds.of(select.out().dtype), {kInvocations, 1, 1},
                              "combines what the splits of the keys gave");
  use.key.spec_count = kFlags + 1;
  use.key.spec[kDv] = u32(d_v);
  use.key.spec[kFlags] = flags & HEED_ATTENTION_LOG_SUM_EXP;
  use.buffer_count = 3;
  use.buffers[0] = {BufferUse::Kind::Tensor, false, select.node.workspace};
  use.buffers[1] = {BufferUse::Kind::Tensor, true, select.node.outputs[0]};
  use.buffers[2] = {BufferUse::Kind::Tensor, true, log_sum_exp_or_output(select.node)};
}

void emit_combine(const Emit& emit, uint32_t splits) {
  const View query = emit.in(in::kQuery), result = emit.out();
  AttentionCombineParams p{};
  p.offset[1] = u32(result.offset);
  if (emit.node.outputs[out::kLogSumExp].valid())
    p.offset[2] = u32(resolve(emit.schedule, emit.node.outputs[out::kLogSumExp], emit.values).offset);
  p.rows = u32(query.dim[0] * query.dim[1] * query.dim[2]);
  p.heads = u32(query.dim[1]);
  p.s_q = u32(query.dim[2]);
  p.splits = splits;
  Dispatch& dispatch = emit.dispatches->add();
  dispatch.kernel = emit.kernels.count - 1;
  dispatch.groups = fold_groups(ceil_div<int64_t>(p.rows * ceil_div<int64_t>(result.dim[3], 4), kInvocations));
  dispatch.work = static_cast<double>(p.rows) * splits * static_cast<double>(result.dim[3] + 2) * sizeof(float);
  dispatch.workspace_bytes = dispatch.work;
  dispatch.set_push(p);
}

}  // namespace heed::kernels

// Matmuls with split k: each split stores its sums in the workspace, and matmul_sum.comp adds them. k is split if few tiles would leave a
// GPU idle, or if a sum is so long that one workgroup would delay the frame.
#include <algorithm>

#include "kernels/matmul/matmul.hpp"
#include "kernels/operations.hpp"

namespace heed::kernels {
namespace matmul {
namespace {

// With two workgroups per core, one computes while the other waits for memory.
constexpr int64_t kGroupsPerCore = 2;
// For a shorter split, writing and reading its sums costs more than it gains.
constexpr int64_t kLeastSplitDepth = 512;
// With this k a 64x64 tile takes about 10 ms on a slow GPU, whose workgroups do 10 GFLOP/s each.
constexpr int64_t kMostDepth = 16384;
// Splits begin at multiples of this, so that reads of 16 bytes stay aligned.
constexpr int64_t kDepthStep = 32;
// The most floats of workspace: per core if splits are used to fill the device, in total if they bound a workgroup's time.
constexpr int64_t kMostToFill = 1 << 14, kMostToBound = 1 << 24;
constexpr uint32_t kSumInvocations = 128;
// More waves of workgroups than this do not make splits faster. A single workgroup on a core idles at its barriers, which slows a single
// wave by this factor.
constexpr int64_t kMostWaves = 4;
constexpr double kLoneWave = 1.25;
// The time to write and read a sum: 8 bytes, during which a core does some 32 multiply-adds of a 64x64 tile.
constexpr double kSumTime = 32;
// The time to begin a dispatch for a shorter last split, behind a barrier: some 2 us of a GPU.
constexpr double kShortSplit = 1 << 17;

KernelId sum_id(DType dtype) {
  return ByStorage{KernelId::MatmulF32Sum, KernelId::MatmulF16Sum, KernelId::MatmulBf16Sum}.of(dtype);
}

int64_t elements_of(const Problem& problem) { return problem.b0 * problem.b1 * problem.m * problem.n; }

int64_t depth_of_split(const Problem& problem, int64_t splits) {
  return align_up(ceil_div(problem.k, splits), std::max(kDepthStep, problem.depth_step));
}

// The time of `groups` workgroups that sum over `depth` of k.
double time_of_waves(const Problem& problem, const Traits& traits, int64_t groups, int64_t depth) {
  const int64_t waves = ceil_div(groups, problem.cores);
  return (waves == 1 ? kLoneWave : static_cast<double>(waves)) * traits.group * static_cast<double>(depth);
}

// The time of a run, in units of Problem::cost, including writing and reading the splits' sums. A last split that is shorter is a dispatch
// of its own, which begins when the others have ended.
double time_of(const Problem& problem, const Traits& traits, int64_t splits) {
  const int64_t groups = problem.tiles(traits), depth = depth_of_split(problem, splits);
  if (splits == 1) return time_of_waves(problem, traits, groups, problem.k);
  const int64_t last = problem.k % depth, whole = problem.k / depth;
  double time = time_of_waves(problem, traits, groups * whole, depth);
  if (last != 0) time += time_of_waves(problem, traits, groups, last) + kShortSplit;
  return time + kSumTime * static_cast<double>(elements_of(problem) * splits / problem.cores);
}

// The number of splits from `least` to `most` with the least time.
int64_t fastest(const Problem& problem, const Traits& traits, int64_t least, int64_t most) {
  int64_t best = 0;
  double best_time = 0;
  for (int64_t asked = least; asked <= most; ++asked) {
    const int64_t splits = ceil_div(problem.k, depth_of_split(problem, asked));  // fewer, since depths are rounded up
    const double time = time_of(problem, traits, splits);
    if (best == 0 || time < best_time) best = splits, best_time = time;
  }
  return best;
}

}  // namespace

int64_t splits_of(const Problem& problem, const Traits& traits) {
  const int64_t fit = problem.workspace / elements_of(problem);
  if (fit <= 1) return 1;
  const int64_t depth = std::max<int64_t>(kLeastSplitDepth, traits.least_split), groups = problem.tiles(traits);
  const int64_t least = std::min(ceil_div(problem.k, kMostDepth), fit);
  const int64_t most = std::min(problem.k / depth, kMostWaves * problem.cores / groups);
  const bool fills = groups >= problem.cores * kGroupsPerCore;
  return fastest(problem, traits, least, fills ? least : std::clamp(most, least, fit));
}

void add_partial(const Select& select, uint32_t kernel) {
  if (!select.node.workspace.valid()) return;
  KernelList& list = *select.kernels;
  const KernelUse whole = list.uses[kernel];  // a copy, since add() overwrites the last entry of a full list
  KernelUse& partial = list.add() = whole;
  partial.role = KernelUse::Role::Partial;
  // A partial kernel writes neither the result nor the activation's input.
  for (const uint32_t binding : {partial.buffer_count - 2, partial.buffer_count - 1})
    partial.buffers[binding].tensor = select.node.workspace;
  list.uses[kernel].partner = list.count - 1;
}

void add_sum(const Select& select) {
  if (!select.node.workspace.valid()) return;
  Candidates candidates;
  Candidate& one = add_tile(&candidates, sum_id(select.out().dtype), kSumInvocations, 1, 1, 0);
  one.why = "adds splits of k: few tiles, or long sums";
  add(select, one, false).buffers[0].tensor = select.node.workspace;
  make_second_dispatch(select.kernels);
}

void emit_splits(const Emit& emit, const Problem& problem, uint32_t kernel, int64_t splits) {
  const int64_t elements = elements_of(problem);
  const int64_t depth = depth_of_split(problem, splits), last = problem.k - depth * (splits - 1);
  const int64_t start = resolve(emit.schedule, emit.node.workspace, emit.values).offset;
  Problem split = problem;
  split.residual = {};
  split.out = {start, problem.b1 * problem.m * problem.n, problem.m * problem.n, problem.n, 1};
  split.splits = last == depth ? splits : splits - 1;
  split.k = depth;
  emit_product(emit, split, kernel, true);
  if (last != depth) {  // the last split is shorter
    split.a.offset += split.splits * depth * problem.a.column;
    split.b.offset += split.splits * depth * problem.b.row;
    split.out.offset += split.splits * elements;
    split.splits = 1;
    split.k = last;
    emit_product(emit, split, kernel, true);
  }

  Problem sum = problem;
  sum.a = {start, 0, 0, 0, elements};
  sum.k = splits;
  Dispatch& dispatch = emit.dispatches->add();
  dispatch.kernel = emit.kernels.uses[kernel].partner;
  MatmulParams p = params_of(emit, sum, emit.kernels.uses[dispatch.kernel]);
  dispatch.groups = fold_groups(ceil_div<int64_t>(elements, kSumInvocations));
  dispatch.work = 4.0 * static_cast<double>(elements) * static_cast<double>(splits + 1);
  dispatch.workspace_bytes = 4.0 * static_cast<double>(elements) * static_cast<double>(splits);
  dispatch.set_push(p);
}

}  // namespace matmul

int64_t matmul_workspace(const Need& need) {
  using namespace matmul;
  const TensorInfo &a = need.info(in::kA), &out = need.tensors[need.node.outputs[0].id];
  if (!need.device.allows(sum_id(out.dtype))) return 0;
  const int64_t k = need.max_of(a.dims[static_cast<size_t>(a.rank - 1)]);
  int64_t elements = 1;
  bool vary = false;
  for (int i = 0; i < out.rank; ++i) {
    const SizeId size = out.dims[static_cast<size_t>(i)];
    vary = vary || !need.sizes.is_constant(size);
    elements = mul_up_to(elements, need.max_of(size), INT64_MAX);
  }
  // No kernel's tiles exceed 128x128, so a result of this size fills the device without splits.
  const int64_t groups = need.device.cores * kGroupsPerCore;
  const bool enough = !vary && elements >= groups * 128 * 128;
  const int64_t fill = enough ? 1 : std::min(groups, k / kLeastSplitDepth), bound = ceil_div(k, kMostDepth);
  const int64_t to_fill = fill > 1 ? mul_up_to(elements, fill, need.device.cores * kMostToFill) : 0;
  const int64_t to_bound = bound > 1 ? mul_up_to(elements, bound, kMostToBound) : 0;
  const auto most = static_cast<int64_t>(need.device.max_storage_range / sizeof(float));
  return std::min(std::max(to_fill, to_bound), most);
}

}  // namespace heed::kernels

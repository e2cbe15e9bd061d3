// Products that are cut along k: parts of it go to the workspace side by side, and matmul_sum.comp adds them. For few
// tiles, which leave a GPU idle, and for sums so long that one workgroup would hold up the frame.
#include <algorithm>

#include "kernels/matmul.hpp"
#include "kernels/operations.hpp"

namespace heed::kernels {
namespace matmul {
namespace {

// With two workgroups on each core one of them computes while the other waits for memory.
constexpr int64_t kGroupsPerCore = 2;
// Below this a part is not worth its trip through memory.
constexpr int64_t kLeastDepth = 512;
// A 64x64 tile over so many k takes a slow GPU, whose workgroups have 10 GFLOP/s each, 10 ms.
constexpr int64_t kMostDepth = 16384;
// Parts begin at multiples of this, where all kernels can read 16 bytes at a time if they could before.
constexpr int64_t kDepthStep = 32;
// Floats of a workspace: where parts fill the device, for each of its cores, and where they bound the time of a dispatch.
constexpr int64_t kMostToFill = 1 << 14, kMostToBound = 1 << 24;
constexpr uint32_t kSumInvocations = 128;

KernelId sum_id(DType dtype) {
  return ByStorage{KernelId::MatmulF32Sum, KernelId::MatmulF16Sum, KernelId::MatmulBf16Sum}.of(dtype);
}

int64_t product(int64_t a, int64_t b, int64_t most) {
  int64_t result = 0;
  return checked_mul(a, b, &result) ? std::min(result, most) : most;
}

int64_t elements_of(const Problem& problem) { return problem.b0 * problem.b1 * problem.m * problem.n; }

int64_t parts_to_fill(int64_t groups, int64_t enough, int64_t k) {
  return groups < enough ? std::min(ceil_div(enough, groups), k / kLeastDepth) : 1;
}

}  // namespace

int64_t parts_of(const Problem& problem, const KernelKey& key) {
  const int64_t elements = elements_of(problem);
  const int64_t fill = parts_to_fill(problem.tiles(key), problem.cores * kGroupsPerCore, problem.k);
  const int64_t wanted = std::min(std::max(fill, ceil_div(problem.k, kMostDepth)), problem.workspace / elements);
  if (wanted <= 1) return 1;
  return ceil_div(problem.k, align_up(ceil_div(problem.k, wanted), kDepthStep));
}

void add_parts(const Select& select) {
  if (!select.node.workspace.valid()) return;
  KernelList& list = *select.kernels;
  const uint32_t count = list.count;
  for (uint32_t i = 0; i < count; ++i) {
    KernelUse& use = list.add() = list.uses[i];
    use.buffers[use.buffer_count - 1].tensor = select.node.workspace;
  }
  KernelUse& sum = add(select, sum_id(select.out().dtype), kSumInvocations, {1, 1}, {}, 0,
                       "adds parts of k: few tiles, or long sums");
  sum.buffers[0].tensor = select.node.workspace;
}

void emit_parts(const Emit& emit, const Problem& problem, uint32_t kernel, int64_t parts) {
  const int64_t elements = elements_of(problem);
  const int64_t depth = align_up(ceil_div(problem.k, parts), kDepthStep), last = problem.k - depth * (parts - 1);
  const int64_t start = resolve(emit.schedule, emit.node.workspace, emit.values).offset;
  Problem part = problem;
  part.residual = {};
  part.out = {start, problem.b1 * problem.m * problem.n, problem.m * problem.n, problem.n, 1};
  part.parts = last == depth ? parts : parts - 1;
  part.k = depth;
  emit_product(emit, part, kernel, true);
  if (last != depth) {  // what is left makes a part of its own
    part.a.offset += part.parts * depth * problem.a.column;
    part.b.offset += part.parts * depth * problem.b.row;
    part.out.offset += part.parts * elements;
    part.parts = 1;
    part.k = last;
    emit_product(emit, part, kernel, true);
  }

  Problem sum = problem;
  sum.a = {start, 0, 0, 0, elements};
  sum.k = parts;
  Dispatch& dispatch = emit.dispatches->add();
  dispatch.kernel = emit.kernels.count - 1;
  MatmulParams p = params_of(emit, sum, emit.kernels.uses[dispatch.kernel].key);
  dispatch.groups = fold_groups(ceil_div<int64_t>(elements, kSumInvocations));
  dispatch.work = 4.0 * static_cast<double>(elements) * static_cast<double>(parts + 1);
  dispatch.workspace_bytes = 4.0 * static_cast<double>(elements) * static_cast<double>(parts);
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
    elements = product(elements, need.max_of(size), INT64_MAX);
  }
  // Every kernel's tiles are smaller than 16,384 elements, so that as many of them are enough for any device.
  const int64_t groups = need.device.cores * kGroupsPerCore;
  const bool enough = !vary && elements >= groups * 128 * 128;
  const int64_t fill = enough ? 1 : std::min(groups, k / kLeastDepth), bound = ceil_div(k, kMostDepth);
  const int64_t to_fill = fill > 1 ? product(elements, fill, need.device.cores * kMostToFill) : 0;
  const int64_t to_bound = bound > 1 ? product(elements, bound, kMostToBound) : 0;
  const auto most = static_cast<int64_t>(need.device.max_storage_range / sizeof(float));
  return std::min(std::max(to_fill, to_bound), most);
}

}  // namespace heed::kernels

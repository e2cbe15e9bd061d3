// The norm of gradients: sums of squares of blocks, from which one workgroup then computes the factors of a step.
#include <cstddef>

#include "base/update.hpp"
#include "kernels/operations.hpp"

namespace heed::kernels {
namespace {

static_assert(kSquaresBlock == HEED_SQUARES_BLOCK && offsetof(UpdateSettings, gradient) == HEED_UPDATE_GRADIENT * 4 &&
              offsetof(UpdateSettings, most_norm) == HEED_UPDATE_MOST_NORM * 4 &&
              offsetof(UpdateSettings, applies) == HEED_UPDATE_APPLIES * 4 &&
              offsetof(UpdateFactors, gradient) == HEED_FACTOR_GRADIENT * 4 &&
              offsetof(UpdateFactors, taken) == HEED_FACTOR_TAKEN * 4 &&
              offsetof(UpdateFactors, norm) == HEED_FACTOR_NORM * 4 &&
              offsetof(UpdateFactors, step) == HEED_FACTOR_STEP * 4);

constexpr std::array<uint32_t, 3> kWorkgroup = {HEED_ROW_INVOCATIONS, 1, 1};

}  // namespace

int64_t gradient_norm_workspace(const Need& need) {
  int64_t blocks = 0;
  for (size_t i = in::kNormGradients; i < kMaxInputs; ++i)
    if (need.node.inputs[i].valid()) blocks += ceil_div<int64_t>(need.max_of(need.info(i).dims[0]), kSquaresBlock);
  return blocks;
}

Status select_gradient_norm(const Select& select) {
  for (size_t i = in::kNormGradients; i < kMaxInputs; ++i) {
    if (!select.has(i)) continue;
    KernelUse& use = add_kernel(select, KernelId::GradientNorm, kWorkgroup, "one workgroup per 4096 squares");
    use.buffer_count = 2;
    use.buffers[0] = {BufferUse::Kind::Tensor, false, select.node.inputs[i]};
    use.buffers[1] = {BufferUse::Kind::Tensor, true, select.node.workspace};
  }
  KernelUse& use = add_kernel(select, KernelId::GradientNormCombine, kWorkgroup, "one workgroup adds up the sums");
  use.buffer_count = 4;
  use.buffers[0] = {BufferUse::Kind::Tensor, false, select.node.workspace};
  use.buffers[1] = {BufferUse::Kind::Tensor, false, select.node.inputs[in::kNormSettings]};
  use.buffers[2] = {BufferUse::Kind::Tensor, true, select.node.outputs[out::kStep]};
  use.buffers[3] = {BufferUse::Kind::Tensor, true, select.node.outputs[0]};
  return Status::Ok;
}

void emit_gradient_norm(const Emit& emit) {
  uint32_t first = 0, kernel = 0;
  for (size_t i = in::kNormGradients; i < kMaxInputs; ++i) {
    if (!emit.has(i)) continue;
    const View x = emit.in(i);
    const int64_t blocks = ceil_div<int64_t>(x.dim[0], kSquaresBlock);
    GradientNormParams p{};
    p.offset[0] = u32(x.offset);
    p.n = u32(x.dim[0]);
    p.first = first;
    Dispatch& dispatch = emit.dispatches->add();
    dispatch.kernel = kernel++;
    dispatch.groups = fold_groups(blocks);
    dispatch.work = 4.0 * static_cast<double>(x.dim[0]);
    dispatch.set_push(p);
    first += u32(blocks);
  }
  GradientNormCombineParams p{};
  p.offset[1] = u32(emit.in(in::kNormSettings).offset);
  p.offset[2] = u32(resolve(emit.schedule, emit.node.outputs[out::kStep], emit.values).offset);
  p.offset[3] = u32(emit.out().offset);
  p.sums = first;
  Dispatch& dispatch = emit.dispatches->add();
  dispatch.kernel = kernel;
  dispatch.work = dispatch.workspace_bytes = 4.0 * first;
  dispatch.set_push(p);
}

}  // namespace heed::kernels

#include "kernels/operations.hpp"

namespace heed::kernels {
namespace {

// Workgroups: elements of out x invocations per element. Along an inner axis neighbours read neighbouring memory; along
// the last axis a whole workgroup sums one row.
constexpr std::array<uint32_t, 3> kColumns = {32, 4, 1}, kRow = {1, HEED_ROW_INVOCATIONS, 1};

uint32_t flags_of(const Select& select) {
  const auto& attrs = select.node.as<MeanAttrs>();
  if (attrs.sum) return HEED_MEAN_SUM;
  if (!select.has(in::kMeanMask)) return 0;
  const bool keep = attrs.mask_meaning == Mask::Meaning::Keep;
  return HEED_MEAN_MASK | (keep ? HEED_MEAN_MASK_KEEP : 0);
}

}  // namespace

Status select_mean(const Select& select) {
  const TensorInfo& x = select.info(in::kX);
  const auto& attrs = select.node.as<MeanAttrs>();
  KernelId id{};
  Status status = pick_storage(select, x.dtype, {KernelId::MeanF32, KernelId::MeanF16, KernelId::MeanBf16}, &id);
  if (status == Status::Ok) status = expect_dtype(select, in::kMeanMask, "mask", DType::U8);
  if (status != Status::Ok) return status;
  if (select.out().dtype != x.dtype) return select.unsupported("result and input differ in type");
  if (select.has(in::kMeanMask) && attrs.axis != 1)
    return select.unsupported(format("a mask with axis %d; axis 1 is needed", attrs.axis));
  const bool last = attrs.axis == x.rank - 1 && !select.reproducible();
  KernelUse& use =
      add_kernel(select, id, last ? kRow : kColumns,
                 last ? "one workgroup per sum along the last axis" : "32 sums per workgroup, 4 invocations each");
  use.key.set(MeanConstants::FLAGS, flags_of(select));
  constexpr size_t kInputs[] = {in::kX, in::kMeanMask};
  bind(select, &use, kInputs);
  return Status::Ok;
}

void emit_mean(const Emit& emit) {
  const int axis = emit.node.as<MeanAttrs>().axis;
  View x = emit.in(in::kX);
  const View out = emit.out();
  MeanParams p{};
  p.n = u32(x.dim[axis]);
  p.x_n = u32(x.stride[axis]);
  --x.rank;
  for (int i = axis; i < x.rank; ++i) {
    x.dim[i] = x.dim[i + 1];
    x.stride[i] = x.stride[i + 1];
  }
  View mask = x;  // [d0, n]: moves along out's first dimension only
  for (int i = 0; i < mask.rank; ++i) mask.stride[i] = 0;
  if (emit.has(in::kMeanMask)) {
    const View given = emit.in(in::kMeanMask);
    p.offset[1] = u32(given.offset);
    mask.stride[0] = given.stride[0];
    p.mask_n = u32(given.stride[1]);
  }
  const View* const views[] = {&x, &mask, &out};
  Walk walk = make_walk(x, views);
  merge_dims(&walk, 0);

  p.offset[0] = u32(x.offset);
  p.offset[2] = u32(out.offset);
  p.elements = u32(walk.elements());
  put(p.dim, walk.dim);
  put(p.x_stride, walk.stride[0]);
  put(p.mask_stride, walk.stride[1]);
  put(p.out_stride, walk.stride[2]);

  Dispatch& dispatch = emit.dispatches->add();
  const uint32_t per_group = emit.kernels.uses[0].key.spec[0];
  dispatch.groups = fold_groups(ceil_div<int64_t>(p.elements, per_group));
  dispatch.work = static_cast<double>(walk.elements()) * p.n * static_cast<double>(size_of(x.dtype));
  dispatch.set_push(p);
}

}  // namespace heed::kernels

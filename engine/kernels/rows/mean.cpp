#include "kernels/operations.hpp"

namespace heed::kernels {
namespace {

// A workgroup: elements of out x invocations per element, which add up what each of them has at barriers.
struct Shape {
  std::array<uint32_t, 3> workgroup;
  const char* why;
};

// Along an inner axis neighbours read neighbouring memory. Along the last one short sums share a workgroup, as rows of other operations
// do (rows.cpp): with one of a whole workgroup each, most invocations would have nothing to add and still meet at the barriers.
Shape shape_for(const Select& select, const TensorInfo& x, int axis) {
  if (axis != x.rank - 1 || select.reproducible()) return {{32, 4, 1}, "32 sums per workgroup, 4 invocations each"};
  const int64_t n = select.max_of(x.dims[static_cast<size_t>(axis)]);
  if (n <= 32) return {{16, 8, 1}, "short sums: 16 per workgroup"};
  if (n <= 256) return {{4, 32, 1}, "4 sums per workgroup"};
  return {{1, HEED_ROW_INVOCATIONS, 1}, "long sums: a workgroup each"};
}

uint32_t mean_flags(const Select& select) {
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
  const Shape shape = shape_for(select, x, attrs.axis);
  KernelUse& use = add_kernel(select, id, shape.workgroup, shape.why);
  use.key.set(MeanConstants::FLAGS, mean_flags(select));
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

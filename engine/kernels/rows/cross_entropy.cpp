#include "kernels/rows/rows.hpp"

namespace heed::kernels {

Status select_cross_entropy(const Select& select) {
  const TensorInfo& x = select.info(in::kX);
  KernelId id{};
  constexpr ByStorage kIds = {KernelId::CrossEntropyF32, KernelId::CrossEntropyF16, KernelId::CrossEntropyBf16};
  Status status = pick_storage(select, x.dtype, kIds, &id);
  if (status == Status::Ok) status = expect_dtype(select, in::kLabels, "labels", DType::I32);
  if (status != Status::Ok) return status;
  constexpr size_t kInputs[] = {in::kX, in::kLabels};
  select_summing_lanes(select, id, x.dims[static_cast<size_t>(x.rank - 1)],
                       [&](KernelUse* use) { bind(select, use, kInputs); });
  return Status::Ok;
}

void emit_cross_entropy(const Emit& emit) {
  constexpr double kOperations = 20.0;  // per logit: two loops, an exponential
  const View x = emit.in(in::kX), labels = per_row(emit.in(in::kLabels)), out = per_row(emit.out());
  const View* const views[] = {&x, &labels, &out};
  CrossEntropyParams p{};
  const Walk walk = walk_rows(x, views, &p);
  p.offset[0] = u32(x.offset);
  p.offset[1] = u32(labels.offset);
  p.offset[2] = u32(out.offset);
  put(p.x_stride, walk.stride[0]);
  put(p.label_stride, walk.stride[1], 1);
  put(p.out_stride, walk.stride[2], 1);
  p.smoothing = emit.node.as<CrossEntropyAttrs>().label_smoothing;

  Dispatch& dispatch = emit_rows(emit, p.rows, p.n);
  dispatch.work = static_cast<double>(walk.elements()) * kOperations;
  dispatch.set_push(p);
}

}  // namespace heed::kernels

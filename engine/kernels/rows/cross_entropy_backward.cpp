#include "kernels/rows/rows.hpp"

namespace heed::kernels {

Status select_cross_entropy_backward(const Select& select) {
  const TensorInfo& x = select.info(in::kX);
  KernelId id{};
  constexpr ByStorage kIds = {KernelId::CrossEntropyBackwardF32, KernelId::CrossEntropyBackwardF16,
                              KernelId::CrossEntropyBackwardBf16};
  Status status = pick_storage(select, x.dtype, kIds, &id);
  if (status == Status::Ok) status = expect_dtype(select, in::kLabels, "labels", DType::I32);
  if (status == Status::Ok) status = expect_dtype(select, in::kLossUpstream, "upstream", DType::F32);
  if (status != Status::Ok) return status;
  constexpr size_t kInputs[] = {in::kX, in::kLabels, in::kLossUpstream};
  select_summing_lanes(select, id, x.dims[static_cast<size_t>(x.rank - 1)],
                       [&](KernelUse* use) { bind(select, use, kInputs); });
  return Status::Ok;
}

void emit_cross_entropy_backward(const Emit& emit) {
  constexpr double kOperations = 40.0;  // per logit: three loops, two exponentials
  const View x = emit.in(in::kX), out = emit.out();
  const View labels = per_row(emit.in(in::kLabels)), upstream = per_row(emit.in(in::kLossUpstream));
  const View* const views[] = {&x, &labels, &upstream};
  CrossEntropyBackwardParams p{};
  const Walk walk = walk_rows(out, views, &p);
  p.offset[0] = u32(x.offset);
  p.offset[1] = u32(labels.offset);
  p.offset[2] = u32(upstream.offset);
  p.offset[3] = u32(out.offset);
  put(p.x_stride, walk.stride[0]);
  put(p.label_stride, walk.stride[1], 1);
  put(p.upstream_stride, walk.stride[2], 1);
  p.smoothing = emit.node.as<CrossEntropyAttrs>().label_smoothing;

  Dispatch& dispatch = emit_rows(emit, p.rows, p.n);
  dispatch.work = static_cast<double>(walk.elements()) * kOperations;
  dispatch.set_push(p);
}

}  // namespace heed::kernels

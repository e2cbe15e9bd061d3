#include "kernels/rows/rows.hpp"

namespace heed::kernels {

Status select_log_softmax(const Select& select) {
  const TensorInfo& x = select.info(in::kX);
  KernelId id{};
  constexpr ByStorage kIds = {KernelId::LogSoftmaxF32, KernelId::LogSoftmaxF16, KernelId::LogSoftmaxBf16};
  const Status status = pick_storage(select, x.dtype, kIds, &id);
  if (status != Status::Ok) return status;
  if (select.out().dtype != x.dtype) return select.unsupported("result and logits differ in type");
  constexpr size_t kInputs[] = {in::kX};
  select_summing_lanes(select, id, x.dims[static_cast<size_t>(x.rank - 1)],
                       [&](KernelUse* use) { bind(select, use, kInputs); });
  return Status::Ok;
}

void emit_log_softmax(const Emit& emit) {
  constexpr double kOperations = 20.0;  // per logit: three loops, an exponential
  const View x = emit.in(in::kX), out = emit.out();
  const View* const views[] = {&x, &out};
  LogSoftmaxParams p{};
  const Walk walk = walk_rows(x, views, &p);
  p.offset[0] = u32(x.offset);
  p.offset[1] = u32(out.offset);
  put(p.x_stride, walk.stride[0]);
  put(p.out_stride, walk.stride[1]);

  Dispatch& dispatch = emit_rows(emit, p.rows, p.n);
  dispatch.work = static_cast<double>(walk.elements()) * kOperations;
  dispatch.set_push(p);
}

}  // namespace heed::kernels

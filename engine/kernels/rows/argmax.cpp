#include "kernels/rows/rows.hpp"

namespace heed::kernels {

Status select_argmax(const Select& select) {
  const TensorInfo& x = select.info(in::kX);
  KernelId id{};
  const Status status =
      pick_storage(select, x.dtype, {KernelId::ArgmaxF32, KernelId::ArgmaxF16, KernelId::ArgmaxBf16}, &id);
  if (status != Status::Ok) return status;
  if (select.out().dtype != DType::I32)
    return select.unsupported(format("result of %s; i32 is needed", to_string(select.out().dtype)));
  constexpr size_t kInputs[] = {in::kX};
  select_lanes(select, id, x.dims[static_cast<size_t>(x.rank - 1)],
               [&](KernelUse* use) { bind(select, use, kInputs); });
  return Status::Ok;
}

void emit_argmax(const Emit& emit) {
  const View x = emit.in(in::kX), out = per_row(emit.out());
  const View* const views[] = {&x, &out};
  ArgmaxParams p{};
  const Walk walk = walk_rows(x, views, &p);
  p.offset[0] = u32(x.offset);
  p.offset[1] = u32(out.offset);
  put(p.x_stride, walk.stride[0]);
  put(p.out_stride, walk.stride[1], 1);

  Dispatch& dispatch = emit_rows(emit, p.rows, p.n);
  dispatch.work = static_cast<double>(walk.elements()) * static_cast<double>(size_of(x.dtype));
  dispatch.set_push(p);
}

}  // namespace heed::kernels

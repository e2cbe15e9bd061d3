#include "kernels/rows/rows.hpp"

namespace heed::kernels {

Status select_l2_normalize(const Select& select) {
  const TensorInfo& x = select.info(in::kX);
  const Status status = check_storage(select, x.dtype);
  if (status != Status::Ok) return status;
  if (select.out().dtype != x.dtype) return select.unsupported("result and input differ in type");
  constexpr ByStorage kIds = {KernelId::L2NormalizeF32, KernelId::L2NormalizeF16, KernelId::L2NormalizeBf16};
  constexpr size_t kInputs[] = {in::kX};
  const Tensor operands[] = {select.node.inputs[in::kX], select.node.outputs[0]};
  select_rows(select, kIds, x.dims[static_cast<size_t>(x.rank - 1)], 0, operands, kInputs);
  return Status::Ok;
}

void emit_l2_normalize(const Emit& emit) {
  const View x = emit.in(in::kX), out = emit.out();
  const View* const views[] = {&x, &out};
  L2NormalizeParams p{};
  const Walk walk = walk_rows(x, views, &p);
  p.offset[0] = u32(x.offset);
  p.offset[1] = u32(out.offset);
  put(p.x_stride, walk.stride[0]);
  put(p.out_stride, walk.stride[1]);
  p.eps = emit.node.as<NormAttrs>().eps;

  Dispatch& dispatch = emit_rows(emit, p.rows, p.n, is_vec4(x) && is_vec4(out));
  dispatch.work = static_cast<double>(walk.elements()) * 8.0;  // three loops and a division
  dispatch.set_push(p);
}

}  // namespace heed::kernels

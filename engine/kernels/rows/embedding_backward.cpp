#include "kernels/rows/rows.hpp"

namespace heed::kernels {

Status select_embedding_backward(const Select& select) {
  const TensorInfo& rows = select.info(0);
  KernelId id{};
  constexpr ByStorage kIds = {KernelId::EmbeddingBackwardF32, KernelId::EmbeddingBackwardF16,
                              KernelId::EmbeddingBackwardBf16};
  Status status = pick_storage(select, rows.dtype, kIds, &id);
  if (status == Status::Ok) status = expect_dtype(select, in::kIds, "ids", DType::I32);
  if (status != Status::Ok) return status;
  constexpr size_t kInputs[] = {0, in::kIds};
  select_lanes(select, id, rows.dims[2], [&](KernelUse* use) { bind(select, use, kInputs); });
  return Status::Ok;
}

void emit_embedding_backward(const Emit& emit) {
  const View rows = emit.in(0), ids = emit.in(in::kIds), out = emit.out();
  EmbeddingBackwardParams p{};
  p.offset[0] = u32(rows.offset);
  p.offset[1] = u32(ids.offset);
  p.offset[2] = u32(out.offset);
  p.rows = u32(out.dim[0] * out.dim[1]);
  p.n = u32(out.dim[2]);
  p.vocabulary = u32(out.dim[1]);
  p.count = u32(ids.dim[1]);

  Dispatch& dispatch = emit_rows(emit, p.rows, p.n);
  dispatch.work = static_cast<double>(out.elements()) * static_cast<double>(p.count);
  dispatch.set_push(p);
}

}  // namespace heed::kernels

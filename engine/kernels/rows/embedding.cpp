#include "kernels/matmul/planes.hpp"
#include "kernels/rows/rows.hpp"

namespace heed::kernels {
namespace {

// A table of f16 or bf16 may give rows of f32, and a quantized table gives rows of any type.
Status pick_variant(const Select& select, DType table, KernelId* id) {
  const DType to = select.out().dtype;
  if (is_quantized(table))
    return pick_storage(
        select, to,
        {KernelId::EmbeddingF32Quantized, KernelId::EmbeddingF16Quantized, KernelId::EmbeddingBf16Quantized}, id);
  if (to == DType::F32 && is_16_bit_float(table)) {
    *id = table == DType::F16 ? KernelId::EmbeddingF16F32 : KernelId::EmbeddingBf16F32;
    return Status::Ok;
  }
  const Status status =
      pick_storage(select, table, {KernelId::EmbeddingF32, KernelId::EmbeddingF16, KernelId::EmbeddingBf16}, id);
  if (status != Status::Ok || to == table) return status;
  return select.unsupported(format("a table of %s and a result of %s", to_string(table), to_string(to)));
}

}  // namespace

Status select_embedding(const Select& select) {
  const TensorInfo& table = select.info(in::kTable);
  KernelId id{};
  Status status = pick_variant(select, table.dtype, &id);
  if (status == Status::Ok) status = expect_dtype(select, in::kIds, "ids", DType::I32);
  if (status != Status::Ok) return status;
  constexpr size_t kInputs[] = {in::kTable, in::kIds};
  select_lanes(select, id, table.dims[1], [&](KernelUse* use) {
    if (is_quantized(table.dtype)) use->key.set(EmbeddingConstants::BLOCK_TYPE, number_of(table.dtype));
    bind(select, use, kInputs);
    use->buffers[use->buffer_count++] = {BufferUse::Kind::Faults, true, {}};
  });
  return Status::Ok;
}

void emit_embedding(const Emit& emit) {
  const View table = emit.in(in::kTable), ids = per_row(emit.in(in::kIds)), out = emit.out();
  const View* const views[] = {&ids, &out};
  EmbeddingParams p{};
  const Walk walk = walk_rows(out, views, &p);
  p.offset[0] = u32(table.offset);
  p.offset[1] = u32(ids.offset);
  p.offset[2] = u32(out.offset);
  const auto& attrs = emit.node.as<EmbeddingAttrs>();
  p.vocabulary = u32(table.dim[0]);
  p.first = u32(attrs.first);
  p.total = u32(attrs.total > 0 ? attrs.total : table.dim[0]);
  p.table_row = u32(table.stride[0]);
  p.table_column =
      u32(is_quantized(table.dtype) ? blocks_of(emit.schedule, emit.node.inputs[in::kTable]) : table.stride[1]);
  put(p.ids_stride, walk.stride[0], 1);
  put(p.out_stride, walk.stride[1]);

  Dispatch& dispatch = emit_rows(emit, p.rows, p.n);
  dispatch.work = 2.0 * static_cast<double>(walk.elements()) * static_cast<double>(size_of(out.dtype));
  dispatch.set_push(p);
}

}  // namespace heed::kernels

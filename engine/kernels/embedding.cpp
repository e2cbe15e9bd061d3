#include "kernels/operations.hpp"

namespace heed::kernels {
namespace {

constexpr size_t kBfloat = 3;  // a constant of the narrow variant

// A table may take half the bytes of its rows.
Status pick_variant(const Select& select, DType table, KernelId* id) {
  const DType to = select.out().dtype;
  if (to == DType::F32 && is_16_bit_float(table)) {
    *id = KernelId::EmbeddingF32Narrow;
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
  const LanePlan plan = plan_lanes(select, table.dims[1]);
  constexpr size_t kInputs[] = {in::kTable, in::kIds};
  for (uint32_t i = 0; i < plan.count; ++i) {
    const uint32_t lanes = plan.lanes[i];
    KernelUse& use = add_kernel(select, id, {lanes, kRowInvocations / lanes, 1}, why_lanes(lanes, table.dtype));
    if (id == KernelId::EmbeddingF32Narrow) {
      use.key.spec[kBfloat] = table.dtype == DType::BF16;
      use.key.spec_count = kBfloat + 1;
    }
    bind(select, &use, kInputs);
    use.buffers[use.buffer_count++] = {BufferUse::Kind::Faults, true, {}};
  }
  return Status::Ok;
}

void emit_embedding(const Emit& emit) {
  const View table = emit.in(in::kTable), out = emit.out();
  View ids = emit.in(in::kIds);  // one id per row: as a view of out's rank it does not move along the row
  ids.dim[ids.rank] = 1;
  ids.stride[ids.rank++] = 0;
  const View* const views[] = {&ids, &out};
  Walk walk = make_walk(out, views);
  merge_dims(&walk, 1);

  EmbeddingParams p{};
  p.offset[0] = u32(table.offset);
  p.offset[1] = u32(ids.offset);
  p.offset[2] = u32(out.offset);
  p.rows = u32(walk.elements(1));
  p.n = u32(walk.dim[kMaxRank - 1]);
  p.vocabulary = u32(table.dim[0]);
  p.table_row = u32(table.stride[0]);
  p.table_column = u32(table.stride[1]);
  put(p.dim, walk.dim, 1);
  put(p.ids_stride, walk.stride[0], 1);
  put(p.out_stride, walk.stride[1]);

  Dispatch& dispatch = emit.dispatches->add();
  const uint32_t lanes = lanes_for(p.n);
  dispatch.kernel = find_lanes(emit.kernels, lanes);
  dispatch.groups = row_groups(p.rows, lanes);
  dispatch.work = 2.0 * static_cast<double>(walk.elements()) * static_cast<double>(size_of(out.dtype));
  dispatch.set_push(p);
}

}  // namespace heed::kernels

// Scatter and gather of rows at positions given by a tensor.
#include "kernels/rows/rows.hpp"

namespace heed::kernels {
namespace {

Status pick_variant(const Select& select, DType from, DType to, KernelId* id) {
  if (from == to && (from == DType::I32 || from == DType::U8)) {
    *id = from == DType::I32 ? KernelId::PlaceI32 : KernelId::PlaceU8;
    return Status::Ok;
  }
  if (from == to) return pick_storage(select, to, {KernelId::PlaceI32, KernelId::PlaceU16, KernelId::PlaceU16}, id);
  return select.unsupported(format("rows of %s to a tensor of %s", to_string(from), to_string(to)));
}

}  // namespace

Status select_place(const Select& select) {
  const TensorInfo &x = select.info(in::kX), &out = select.out();
  KernelId id{};
  Status status = pick_variant(select, x.dtype, out.dtype, &id);
  if (status == Status::Ok) status = expect_dtype(select, in::kPlaces, "places", DType::I32);
  if (status != Status::Ok) return status;
  constexpr size_t kInputs[] = {in::kX, in::kPlaces};
  select_lanes(select, id, out.dims[static_cast<size_t>(out.rank - 1)], [&](KernelUse* use) {
    use->key.set(PlaceConstants::GATHERS, select.node.as<PlaceAttrs>().gathers);
    bind(select, use, kInputs);
    use->buffers[use->buffer_count++] = {BufferUse::Kind::Faults, true, {}};
  });
  return Status::Ok;
}

void emit_place(const Emit& emit) {
  const auto& attrs = emit.node.as<PlaceAttrs>();
  View x = emit.in(in::kX), out = emit.out(), places = emit.in(in::kPlaces);
  PlaceParams p{};
  View& placed = attrs.gathers ? x : out;
  p.axis_stride = u32(placed.stride[attrs.axis]);
  placed.stride[attrs.axis] = 0;
  placed.dim[attrs.axis] = attrs.gathers ? out.dim[attrs.axis] : x.dim[attrs.axis];
  p.room = u32(emit.values.sizes[static_cast<size_t>(attrs.room)]);
  for (int i = attrs.axis + 1; i < out.rank; ++i) places = per_row(places);

  const View* const views[] = {&x, &places, &out};
  const Walk walk = walk_rows(out, views, &p);
  p.offset[0] = u32(x.offset);
  p.offset[1] = u32(places.offset);
  p.offset[2] = u32(out.offset);
  put(p.x_stride, walk.stride[0]);
  put(p.place_stride, walk.stride[1]);
  put(p.out_stride, walk.stride[2]);

  Dispatch& dispatch = emit_rows(emit, p.rows, p.n);
  dispatch.work = 2.0 * static_cast<double>(walk.elements()) * static_cast<double>(size_of(x.dtype));
  dispatch.set_push(p);
}

}  // namespace heed::kernels

#include <utility>

#include "kernels/rows/rows.hpp"

namespace heed::kernels {
namespace {

// A view that maps an element of x to its row's cosines, or to the position of its row. Without either tensor it gives the index along the
// axis before the last.
View positions_of(const Emit& emit, const View& x) {
  if (emit.has(in::kCos)) {
    View rows = emit.in(in::kCos);
    rows.dim[rows.rank - 1] = 1;
    return rows;
  }
  if (emit.has(in::kPositions)) return per_row(emit.in(in::kPositions));
  View view = x;
  view.offset = 0;
  for (int i = 0; i < x.rank; ++i) view.stride[i] = 0;
  view.stride[x.rank - 2] = 1;
  return view;
}

}  // namespace

Status select_rotary(const Select& select) {
  const TensorInfo& x = select.info(in::kX);
  KernelId id{};
  const Status status =
      pick_storage(select, x.dtype, {KernelId::RotaryF32, KernelId::RotaryF16, KernelId::RotaryBf16}, &id);
  if (status != Status::Ok) return status;
  const bool tables = select.has(in::kCos);
  const size_t inputs[] = {in::kX, tables ? in::kCos : in::kPositions, tables ? in::kSin : in::kRotaryTable};
  select_lanes(select, id, x.dims[static_cast<size_t>(x.rank - 1)], [&](KernelUse* use) {
    use->key.set(RotaryConstants::HALVES, select.node.as<RotaryAttrs>().pairs == RotaryPairs::Halves);
    use->key.set(RotaryConstants::POSITIONS, select.has(in::kPositions));
    use->key.set(RotaryConstants::TABLES, tables);
    bind(select, use, inputs);
    const bool placed = select.node.as<RotaryAttrs>().placed;
    use->key.set(RotaryConstants::PLACED, placed);
    BufferUse& faults = use->buffers[use->buffer_count++];
    if (placed)
      faults = {BufferUse::Kind::Faults, true, {}};
    else
      faults.tensor = select.node.inputs[in::kX];
  });
  return Status::Ok;
}

void emit_rotary(const Emit& emit) {
  const auto& attrs = emit.node.as<RotaryAttrs>();
  const bool tables = emit.has(in::kCos);
  const View x = emit.in(in::kX), table = emit.in(tables ? in::kSin : in::kRotaryTable),
             positions = positions_of(emit, x);
  View out = emit.out();
  RotaryParams p{};
  if (attrs.placed) {
    p.room = u32(emit.values.sizes[static_cast<size_t>(attrs.room)]);
    p.apart = u32(std::exchange(out.stride[out.rank - 2], 0));
  }
  const View* const views[] = {&x, &positions, &out};
  const Walk walk = walk_rows(x, views, &p);
  p.offset[0] = u32(x.offset);
  p.offset[1] = u32(positions.offset);
  p.offset[2] = u32(table.offset);
  p.offset[3] = u32(out.offset);
  p.pairs = u32(tables ? attrs.width / 2 : table.dim[0]);
  if (tables) {
    const int64_t apart = table.stride[table.rank - 1];
    const bool whole = table.dim[table.rank - 1] == attrs.width, halves = attrs.pairs == RotaryPairs::Halves;
    p.each = u32(whole && !halves ? 2 * apart : apart);
    p.other = u32(!whole ? 0 : halves ? attrs.width / 2 * apart : apart);
  }
  p.first = u32(emit.values.sizes[static_cast<size_t>(attrs.first)]);
  put(p.x_stride, walk.stride[0]);
  put(p.position_stride, walk.stride[1], 1);
  put(p.out_stride, walk.stride[2]);

  Dispatch& dispatch = emit_rows(emit, p.rows, p.n);
  dispatch.work = 2.0 * static_cast<double>(walk.elements()) * static_cast<double>(size_of(x.dtype));
  dispatch.set_push(p);
}

}  // namespace heed::kernels

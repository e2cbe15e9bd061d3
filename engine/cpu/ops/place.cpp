#include <cstring>

#include "cpu/ops/copy.hpp"

namespace heed::cpu {
namespace {

void clear(const Operand& to, int64_t at, int64_t stride, int64_t n) {
  const size_t size = size_of(to.view.dtype);
  for (int64_t i = 0; i < n; ++i) std::memset(to.data + static_cast<size_t>(at + i * stride) * size, 0, size);
}

}  // namespace

ScratchNeed place_scratch(const ScratchQuery&) { return {}; }

// Copies each row to, or from, its position along the axis. If the axis is the last one, an element is a row.
void run_place(const Pass& pass) {
  const auto& attrs = pass.node.as<PlaceAttrs>();
  Operand x = pass.input(in::kX), out = pass.output(), places = pass.input(in::kPlaces);
  const int64_t room = pass.values.sizes[static_cast<size_t>(attrs.room)];
  View& placed = attrs.gathers ? x.view : out.view;
  const int64_t apart = placed.stride[attrs.axis];
  placed.stride[attrs.axis] = 0;
  placed.dim[attrs.axis] = (attrs.gathers ? out : x).view.dim[attrs.axis];
  for (int i = attrs.axis + 1; i < out.view.rank; ++i) places.view = per_row(places.view);
  places.view = broadcast_to(places.view, out.view);
  x.view = broadcast_to(x.view, out.view);

  const int64_t n = row_length(out.view), each = attrs.axis == out.view.rank - 1 ? 1 : n;
  pass.parallel(row_count(out.view), row_grain(n), [&](uint32_t, int64_t begin, int64_t end) {
    for (int64_t r = begin; r < end; ++r) {
      const int64_t from = row_offset(x.view, r), to = row_offset(out.view, r), at = row_offset(places.view, r);
      for (int64_t i = 0; i < n; i += each) {
        const int64_t place = *places.at<const int32_t>(at + i * row_stride(places.view));
        const int64_t read = from + i * row_stride(x.view), write = to + i * row_stride(out.view);
        const bool inside = place >= 0 && place < room;
        if (place >= room) pass.fault.report(static_cast<uint64_t>(r * n + i));
        if (inside)
          copy_elements(x, read + (attrs.gathers ? place * apart : 0), row_stride(x.view), out,
                        write + (attrs.gathers ? 0 : place * apart), row_stride(out.view), each);
        else if (attrs.gathers)
          clear(out, write, row_stride(out.view), each);
      }
    }
  });
}

}  // namespace heed::cpu

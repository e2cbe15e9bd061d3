// Scatters or gathers rows at positions that differ from row to row; see shared/place.h. Copies bits.
#version 450
#extension GL_GOOGLE_include_directive : require
#include "shared/bits.glsl"
#include "shared/rows.glsl"
#include "shared/place.h"

HEED_BITS(0, x)
layout(set = 0, binding = 1) readonly buffer Places { int places[]; };
HEED_MOVED_BITS(2, result)
layout(set = 0, binding = 3) buffer Faults { uint faults; };

// Offsets of a row's first element: in the source, in the destination, and in the positions.
struct Row {
  uint from, to, places;
};

Moved moved(Row row, uint i) {
  if (i >= p.n) return NONE;
  int place = places[row.places + i * p.place_stride[4]];
  bool inside = place >= 0 && uint(place) < p.room;
  if (!inside && place >= 0) atomicOr(faults, 1u);
  uint apart = inside ? uint(place) * p.axis_stride : 0u;
  uint read = row.from + i * p.x_stride[4], write = row.to + i * p.out_stride[4], bits = 0u;
  if (inside) bits = bits_x(GATHERS ? read + apart : read);
  return Moved(bits, GATHERS ? write : write + apart, GATHERS || inside);
}

void main() {
  uint index = row_index();
  if (index >= p.rows) return;
  uvec4 at = UNRAVEL(index, p.dim);
  Row row = Row(p.offset[0] + DOT4(at, p.x_stride), p.offset[2] + DOT4(at, p.out_stride),
                p.offset[1] + DOT4(at, p.place_stride));
  for (uint i = lane() * EACH; i < p.n; i += lanes() * EACH) {
    Moved a = moved(row, i), b = NONE, c = NONE, d = NONE;
    if (EACH > 1u) b = moved(row, i + 1u);
    if (EACH > 2u) c = moved(row, i + 2u);
    if (EACH > 2u) d = moved(row, i + 3u);
    move_result(a, b, c, d);
  }
}

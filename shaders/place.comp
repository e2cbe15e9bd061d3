// Rows to or from places that differ from row to row; see shared/place.h. Bits move.
#version 450
#extension GL_GOOGLE_include_directive : require
#include "shared/bits.glsl"
#include "shared/rows.glsl"
#include "shared/place.h"

HEED_BITS(0, x)
layout(set = 0, binding = 1) readonly buffer Places { int places[]; };
HEED_MOVED_BITS(2, result)
layout(set = 0, binding = 3) buffer Faults { uint faults; };

void main() {
  uint row = row_index();
  if (row >= p.rows) return;
  uvec4 at = UNRAVEL(row, p.dim);
  uint from = p.offset[0] + DOT4(at, p.x_stride), to = p.offset[2] + DOT4(at, p.out_stride);
  uint place_of = p.offset[1] + DOT4(at, p.place_stride);
  for (uint first = lane() * EACH; first < p.n; first += lanes() * EACH) {
    Run run;
    [[unroll]] for (uint e = 0u; e < 4u; ++e) {
      if (e >= EACH) continue;
      uint i = first + e;
      run.is_there[e] = false;
      if (i >= p.n) continue;
      int place = places[place_of + i * p.place_stride[4]];
      bool inside = place >= 0 && uint(place) < p.room;
      if (!inside && place >= 0) atomicOr(faults, 1u);
      uint apart = inside ? uint(place) * p.axis_stride : 0u;
      uint read = from + i * p.x_stride[4], write = to + i * p.out_stride[4];
      run.is_there[e] = GATHERS || inside;
      run.places[e] = GATHERS ? write : write + apart;
      run.bits[e] = 0u;
      if (inside) run.bits[e] = bits_x(GATHERS ? read + apart : read);
    }
    move_result(run);
  }
}

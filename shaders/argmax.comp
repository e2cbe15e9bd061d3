// Index of the first largest element of each row; see shared/argmax.h.
#version 450
#extension GL_GOOGLE_include_directive : require
#include "shared/elements.glsl"
#include "shared/rows.glsl"
#include "shared/argmax.h"

HEED_OPERAND(0, x)
layout(set = 0, binding = 1) writeonly buffer Out { int result[]; };

const int LEAST = -0x80000000;  // below all numbers
shared int sh_key[HEED_ROW_INVOCATIONS];
shared uint sh_index[HEED_ROW_INVOCATIONS];

// A whole number with the float's order, so that one module gives the same index on every device, in reproducible plans too. What a
// device may have flushed counts as 0; NaN is never the largest.
int key_of(float value) {
  uint bits = floatBitsToUint(value), magnitude = bits & 0x7fffffffu;
  if (magnitude > 0x7f800000u) return LEAST;
  if (magnitude <= 0x00800000u) return 0;
  return (bits & 0x80000000u) != 0u ? -int(magnitude) : int(magnitude);
}

// Whether (key, index) comes before (best, best_index): larger, or equal and earlier.
bool wins(int key, uint index, int best, uint best_index) { return key > best || (key == best && index < best_index); }

void main() {
  uint row = row_index();
  uint n = row < p.rows ? p.n : 0u;
  uvec4 at = UNRAVEL(row, p.dim);
  uint x_row = p.offset[0] + DOT4(at, p.x_stride);

  int best = LEAST;
  uint best_index = 0u;
  for (uint i = lane(); i < n; i += lanes()) {
    int key = key_of(one_x(x_row + i * p.x_stride[4]));
    if (wins(key, i, best, best_index)) {
      best = key;
      best_index = i;
    }
  }
  uint slot = gl_LocalInvocationID.y * lanes() + lane();
  sh_key[slot] = best;
  sh_index[slot] = best_index;
  for (uint width = lanes() / 2u; width > 0u; width /= 2u) {
    barrier();
    if (lane() < width && wins(sh_key[slot + width], sh_index[slot + width], sh_key[slot], sh_index[slot])) {
      sh_key[slot] = sh_key[slot + width];
      sh_index[slot] = sh_index[slot + width];
    }
  }
  if (lane() == 0u && n > 0u) result[p.offset[1] + DOT4(at, p.out_stride)] = int(sh_index[slot]);
}

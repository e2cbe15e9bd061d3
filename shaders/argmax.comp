// Index of the first largest element of each row; see shared/argmax.h.
#version 450
#extension GL_GOOGLE_include_directive : require
#include "shared/elements.glsl"
#include "shared/rows.glsl"
#include "shared/argmax.h"

HEED_OPERAND(0, x)
layout(set = 0, binding = 1) writeonly buffer Out { int result[]; };

const uint NONE = 0xffffffffu;
shared uint sh_index[HEED_ROW_INVOCATIONS];

// Whether (value, index) comes before (best, best_index): larger, or equal and earlier.
bool wins(float value, uint index, float best, uint best_index) {
  if (index == NONE) return false;
  return best_index == NONE || value > best || (value == best && index < best_index);
}

void main() {
  uint row = row_index();
  uint n = row < p.rows ? p.n : 0u;
  uvec4 at = UNRAVEL(row, p.dim);
  uint x_row = p.offset[0] + DOT4(at, p.x_stride);

  float best = 0.0;
  uint best_index = NONE;
  for (uint i = lane(); i < n; i += lanes()) {
    float value = one_x(x_row + i * p.x_stride[4]);
    if (!is_nan(value) && wins(value, i, best, best_index)) {
      best = value;
      best_index = i;
    }
  }
  uint slot = gl_LocalInvocationID.y * lanes() + lane();
  sh_row[slot] = best;
  sh_index[slot] = best_index;
  for (uint width = lanes() / 2u; width > 0u; width /= 2u) {
    barrier();
    if (lane() < width && wins(sh_row[slot + width], sh_index[slot + width], sh_row[slot], sh_index[slot])) {
      sh_row[slot] = sh_row[slot + width];
      sh_index[slot] = sh_index[slot + width];
    }
  }
  if (lane() == 0u && n > 0u)
    result[p.offset[1] + DOT4(at, p.out_stride)] = sh_index[slot] == NONE ? 0 : int(sh_index[slot]);
}

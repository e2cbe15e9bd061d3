// Sums of squares of a gradient; see shared/gradient_norm.h. A workgroup computes one sum.
#version 450
#extension GL_GOOGLE_include_directive : require
#include "shared/rows.glsl"
#include "shared/gradient_norm.h"

layout(set = 0, binding = 0) readonly buffer X { float x[]; };
layout(set = 0, binding = 1) writeonly buffer Sums { float sums[]; };

void main() {
  uint block = workgroup_index();
  uint begin = block * HEED_SQUARES_BLOCK;
  if (begin >= p.n) return;
  uint end = min(begin + HEED_SQUARES_BLOCK, p.n);
  float sum = 0.0, strange = 0.0;
  for (uint i = begin + lane(); i < end; i += lanes()) {
    float value = x[p.offset[0] + i];
    if ((floatBitsToUint(value) & 0x7fffffffu) >= 0x7f800000u)
      strange = 1.0;
    else
      ADD_FLUSHED(sum, MULTIPLY_FLUSHED(FLUSH_FOR_PRODUCT(value), FLUSH_FOR_PRODUCT(value)));
  }
  sum = row_sum(sum);
  strange = row_max(strange);
  if (lane() == 0u) sums[p.offset[1] + p.first + block] = strange > 0.0 ? uintBitsToFloat(0x7fc00000u) : sum;
}

// Cross entropy of rows of logits and their labels; see shared/cross_entropy.h. Two loops over a row: the largest logit, then sums relative
// to it. Infinities are never used in arithmetic.
#version 450
#extension GL_GOOGLE_include_directive : require
#include "shared/elements.glsl"
#include "shared/rows.glsl"
#include "shared/cross_entropy.h"

HEED_OPERAND(0, x)
layout(set = 0, binding = 1) readonly buffer Labels { int labels[]; };
layout(set = 0, binding = 2) writeonly buffer Out { float result[]; };

const float LOWEST = -3.402823466e38;
const uint INFINITY_BITS = 0x7f800000u, NAN_BITS = 0x7fc00000u;

void main() {
  uint row = row_index();
  uint n = row < p.rows ? p.n : 0u;
  uvec4 at = UNRAVEL(row, p.dim);
  uint x_row = p.offset[0] + DOT4(at, p.x_stride);

  float largest = LOWEST;
  for (uint i = lane(); i < n; i += lanes()) {
    float value = one_x(x_row + i * p.x_stride[4]);
    if (!is_minus_infinity(value)) largest = max_with_nan(largest, value);
  }
  largest = row_max(largest);
  bool strange = (floatBitsToUint(largest) & 0x7fffffffu) >= INFINITY_BITS;  // infinite or NaN

  float sum = 0.0, distances = 0.0, forbidden = 0.0;
  for (uint i = lane(); i < n && !strange; i += lanes()) {
    float value = one_x(x_row + i * p.x_stride[4]);
    if (is_minus_infinity(value)) {
      forbidden = 1.0;
    } else {
      float distance = SUBTRACT_FIRST(value, largest);
      ADD_FLUSHED(sum, EXP(distance));
      ADD_FLUSHED(distances, FLUSH_FOR_SUM(distance));
    }
  }
  sum = row_sum(sum);
  if (p.smoothing > 0.0) {
    distances = row_sum(distances);
    forbidden = row_max(forbidden);
  }
  if (lane() > 0u || n == 0u) return;

  uint label = uint(labels[p.offset[1] + DOT4(at, p.label_stride)]);
  uint bits = 0u;
  if (label < n) {
    float own = one_x(x_row + label * p.x_stride[4]);
    if (strange) {
      bits = NAN_BITS;
    } else if ((is_minus_infinity(own) && p.smoothing < 1.0) || (p.smoothing > 0.0 && forbidden > 0.0)) {
      bits = INFINITY_BITS;
    } else {
      float loss = LOG(sum);
      if (p.smoothing < 1.0)
        SUBTRACT_FROM(loss, MULTIPLY(SUBTRACT_ONCE(1.0, p.smoothing), SUBTRACT_FIRST(own, largest)));
      if (p.smoothing > 0.0) SUBTRACT_FROM(loss, MULTIPLY(p.smoothing, DIVIDE_BY_COUNT(distances, n)));
      bits = floatBitsToUint(STORED(loss));
    }
  }
  result[p.offset[2] + DOT4(at, p.out_stride)] = uintBitsToFloat(bits);
}

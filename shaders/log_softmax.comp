// The logarithm of softmax; see shared/log_softmax.h. Three loops over a row: the largest logit, the sum relative to it, the results.
// Infinities are never used in arithmetic.
#version 450
#extension GL_GOOGLE_include_directive : require
#include "shared/elements.glsl"
#include "shared/rows.glsl"
#include "shared/log_softmax.h"

HEED_OPERAND(0, x)
HEED_RESULT(1, result)

const float LOWEST = -3.402823466e38;
const uint INFINITY_BITS = 0x7f800000u, NAN_BITS = 0x7fc00000u;

float log_of(float value, bool strange, float largest, float log_sum) {
  if (strange) return uintBitsToFloat(NAN_BITS);
  if (is_minus_infinity(value)) return value;
  float distance = SUBTRACT_FIRST(value, largest);
  return SUBTRACT(distance, log_sum);
}

void main() {
  uint row = row_index();
  uint n = row < p.rows ? p.n : 0u;
  uvec4 at = UNRAVEL(row, p.dim);
  uint x_row = p.offset[0] + DOT4(at, p.x_stride);
  uint out_row = p.offset[1] + DOT4(at, p.out_stride);

  float largest = LOWEST;
  for (uint i = lane(); i < n; i += lanes()) {
    float value = one_x(x_row + i * p.x_stride[4]);
    if (!is_minus_infinity(value)) largest = max_with_nan(largest, value);
  }
  largest = row_max(largest);
  bool strange = (floatBitsToUint(largest) & 0x7fffffffu) >= INFINITY_BITS;  // infinite or NaN

  float sum = 0.0;
  for (uint i = lane(); i < n && !strange; i += lanes()) {
    float value = one_x(x_row + i * p.x_stride[4]);
    if (!is_minus_infinity(value)) ADD_FLUSHED(sum, EXP(SUBTRACT_FIRST(value, largest)));
  }
  float log_sum = LOG(row_sum(sum));

  for (uint first = lane() * EACH; first < n + skipped(out_row); first += lanes() * EACH) {
    uint begin = first - skipped(out_row);
    bool one = begin < n, other = EACH == 2u && begin + 1u < n;
    vec2 values = vec2(0.0);
    if (one) values.x = log_of(one_x(x_row + begin * p.x_stride[4]), strange, largest, log_sum);
    if (other) values.y = log_of(one_x(x_row + (begin + 1u) * p.x_stride[4]), strange, largest, log_sum);
    put_two_result(out_row + begin * p.out_stride[4], out_row + (begin + 1u) * p.out_stride[4], one, other, values);
  }
}

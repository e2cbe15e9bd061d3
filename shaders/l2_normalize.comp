// Divides each row by its length; see shared/l2_normalize.h.
#version 450
#extension GL_GOOGLE_include_directive : require
#include "shared/elements.glsl"
#include "shared/row_groups.glsl"
#include "shared/row_scale.glsl"
#include "shared/l2_normalize.h"

HEED_OPERAND4(0, x)
HEED_RESULT4(1, result)

HEED_LOAD_GROUP(x)
HEED_STORE_GROUP(result)

vec4 group_of(uint x_row, uint g, uint i, uint n) { return HELD > 0u ? held[g] : load_x(x_row, p.x_stride[4], i, n); }

void main() {
  uint row = row_index();
  uint n = row < p.rows ? p.n : 0u;
  uvec4 at = UNRAVEL(row, p.dim);
  uint x_row = p.offset[0] + DOT4(at, p.x_stride);
  uint out_row = p.offset[1] + DOT4(at, p.out_stride);
  uint groups = group_count(n);
  if (HELD > 0u) {
    [[unroll]] for (uint g = 0u; g < HELD; ++g)
      if (group_start(g) < n) held[g] = load_x(x_row, p.x_stride[4], group_start(g), n);
  }

  uvec4 largest = uvec4(floatBitsToUint(p.eps));  // includes eps, so that scaled eps stays within f32's range, too
  [[unroll]] for (uint g = 0u; g < groups; ++g) {
    uint i = group_start(g);
    if (i < n) largest = larger_magnitudes(largest, group_of(x_row, g, i, n));
  }
  float scale = row_scale(largest);

  vec4 squares = vec4(0.0);
  [[unroll]] for (uint g = 0u; g < groups; ++g) {
    uint i = group_start(g);
    if (i >= n) continue;
    vec4 values = FLUSH_FOR_PRODUCT(MULTIPLY_FIRST(group_of(x_row, g, i, n), scale));
    ADD_FLUSHED(squares, MULTIPLY_FLUSHED(values, values));
  }
#ifdef CANON
  float sum = sum_of_row(squares), inverse = reciprocal_root(sum), eps = times(p.eps, scale);
  // The inverse of the length, or of eps if that is larger.
  float factor = times(sum, inverse) < eps ? reciprocal(eps) : inverse;
#else
  float length = ROOT(sum_of_row(squares)), eps = p.eps * scale;
  float divisor = length < eps ? eps : length;
#endif

  [[unroll]] for (uint g = 0u; g < groups; ++g) {
    uint i = group_start(g);
    if (i >= n) continue;
    vec4 values = MULTIPLY_FIRST(group_of(x_row, g, i, n), scale);
#ifdef CANON
    values = times(values, factor);
#else
    // With eps = 0 a row of zeros stays 0 instead of becoming 0 / 0. A NaN makes all of its row NaN.
    values = floatBitsToUint(divisor) == 0u ? vec4(0.0) : values / divisor;
#endif
    store_result(out_row, p.out_stride[4], i, n, values);
  }
}

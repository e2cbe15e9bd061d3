// Layer normalization; see shared/norm.h. The mean, then the variance with a correction (Chan, Golub, LeVeque 1983):
// the mean is summed from values less the row's first one, and its rounding error is found together with the variance.
// Rows of mean 10,000 and deviation 1 lose nothing.
#version 450
#extension GL_GOOGLE_include_directive : require
#include "shared/norm.glsl"
#include "shared/row_scale.glsl"

// Makes elements past the end of the row 0 again, after a difference has been taken.
vec4 masked(vec4 x, uint i, uint n) {
  [[unroll]] for (uint c = 1u; c < 4u; ++c)
    if (!in_row(i, c, n)) x[c] = 0.0;
  return x;
}

void main() {
  Row row = this_row();
  uint groups = group_count(row.n);
  hold_row(row);

  float shift = 0.0;
  if (row.n > 0u) {
    shift = FROM_A(x[row.x]);
    if ((FLAGS & HEED_NORM_RESIDUAL) != 0u) shift += FROM_A(residual[row.residual]);
  }
  vec4 sum = vec4(0.0);
  uvec4 largest = uvec4(floatBitsToUint(sqrt(p.eps)));  // eps counts, so that scaled it stays within f32 too
  [[unroll]] for (uint g = 0u; g < groups; ++g) {
    uint i = group_start(g);
    if (i >= row.n) continue;
    vec4 difference = masked(group_of(row, g, i) - shift, i, row.n);
    sum += difference;
    largest = larger_magnitudes(largest, difference);
  }
  float scale = row_scale(largest);
  float mean = shift + row_sum(sum_of_four(sum)) / float(p.n);

  vec4 deviations = vec4(0.0), squares = vec4(0.0);
  [[unroll]] for (uint g = 0u; g < groups; ++g) {
    uint i = group_start(g);
    if (i >= row.n) continue;
    vec4 deviation = masked((group_of(row, g, i) - mean) * scale, i, row.n);
    deviations += deviation;
    squares += deviation * deviation;
  }
  float left_over = row_sum(sum_of_four(deviations)) / float(p.n);
  float variance = max(row_sum(sum_of_four(squares)) / float(p.n) - left_over * left_over, 0.0);
  float inverse = inversesqrt(variance + (p.eps * scale) * scale);

  [[unroll]] for (uint g = 0u; g < groups; ++g) {
    uint i = group_start(g);
    if (i >= row.n) continue;
    vec4 values = ((group_of(row, g, i) - mean) * scale - left_over) * inverse;
    if ((FLAGS & HEED_NORM_GAMMA) != 0u) values *= load_gamma(p.offset[1], p.gamma_stride, i, row.n);
    if ((FLAGS & HEED_NORM_BETA) != 0u) values += load_beta(p.offset[2], p.beta_stride, i, row.n);
    store_result(row.out_at, p.out_stride[4], i, row.n, values);
  }
}

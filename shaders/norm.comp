// Layer normalization, or root-mean-square normalization with HEED_NORM_ROOT; see shared/norm.h.
#version 450
#extension GL_GOOGLE_include_directive : require
#include "shared/norm.glsl"
#include "shared/row_scale.glsl"

const bool ROOT = (FLAGS & HEED_NORM_ROOT) != 0u;

// Sets elements past the end of the row to 0 again, after a difference was computed.
vec4 masked(vec4 x, uint i, uint n) {
  [[unroll]] for (uint c = 1u; c < 4u; ++c)
    if (!in_row(i, c, n)) x[c] = 0.0;
  return x;
}

// The numbers that normalize a row. RMSNorm does not subtract a mean.
struct Norm {
  float mean, scale;
  float left_over;  // rounding error of the mean, times the scale
  float inverse;    // 1 / deviation, or 1 / root
};

// The mean, then the variance with a correction (Chan, Golub, LeVeque 1983): the mean is summed from differences to the row's first value,
// and its rounding error is found together with the variance. Rows of mean 10,000 and deviation 1 lose no digits.
Norm norm_around_mean(Row row, uint groups) {
  float shift = 0.0;
  if (row.n > 0u) {
    shift = one_x(row.x);
    if ((FLAGS & HEED_NORM_RESIDUAL) != 0u) ADD_TO(shift, one_residual(row.residual));
  }
  vec4 sum = vec4(0.0);
  uvec4 largest = uvec4(NEAR_ROOT_BITS(p.eps));  // includes eps, so that scaled eps stays within f32's range, too
  [[unroll]] for (uint g = 0u; g < groups; ++g) {
    uint i = group_start(g);
    if (i >= row.n) continue;
    vec4 difference = masked(SUBTRACT_FIRST(group_of(row, g, i), shift), i, row.n);
    ADD_FLUSHED(sum, FLUSH_FOR_SUM(difference));
    largest = larger_magnitudes(largest, difference);
  }
  float scale = row_scale(largest);
  float mean = ADD(shift, DIVIDE_BY_COUNT(sum_of_row(sum), p.n));

  vec4 deviations = vec4(0.0), squares = vec4(0.0);
  [[unroll]] for (uint g = 0u; g < groups; ++g) {
    uint i = group_start(g);
    if (i >= row.n) continue;
    vec4 deviation = masked(MULTIPLY_FIRST(SUBTRACT_FIRST(group_of(row, g, i), mean), scale), i, row.n);
    ADD_FLUSHED(deviations, FLUSH_FOR_SUM(deviation));
    ADD_FLUSHED(squares, MULTIPLY_FLUSHED(FLUSH_FOR_PRODUCT(deviation), FLUSH_FOR_PRODUCT(deviation)));
  }
  float left_over = DIVIDE_BY_COUNT(sum_of_row(deviations), p.n);
  float variance =
      NOT_NEGATIVE(SUBTRACT(DIVIDE_BY_COUNT(sum_of_row(squares), p.n), MULTIPLY(left_over, left_over)));
  float inverse = INVERSE_ROOT(ADD(variance, scaled_twice(p.eps, scale)));
  return Norm(mean, scale, left_over, inverse);
}

// RMSNorm: no mean and no beta.
Norm norm_by_root(Row row, uint groups) {
  uvec4 largest = uvec4(NEAR_ROOT_BITS(p.eps));  // includes eps, so that scaled eps stays within f32's range, too
  [[unroll]] for (uint g = 0u; g < groups; ++g) {
    uint i = group_start(g);
    if (i < row.n) largest = larger_magnitudes(largest, group_of(row, g, i));
  }
  float scale = row_scale(largest);

  vec4 squares = vec4(0.0);
  [[unroll]] for (uint g = 0u; g < groups; ++g) {
    uint i = group_start(g);
    if (i >= row.n) continue;
    vec4 values = FLUSH_FOR_PRODUCT(MULTIPLY_FIRST(group_of(row, g, i), scale));
    ADD_FLUSHED(squares, MULTIPLY_FLUSHED(values, values));
  }
  float inverse = INVERSE_ROOT(
      ADD(DIVIDE_BY_COUNT(sum_of_row(squares), p.n), scaled_twice(p.eps, scale)));
  return Norm(0.0, scale, 0.0, inverse);
}

void main() {
  Row row = this_row();
  uint groups = group_count(row.n);
  hold_row(row);
  Norm norm;
  if (ROOT) norm = norm_by_root(row, groups);
  else norm = norm_around_mean(row, groups);

  [[unroll]] for (uint g = 0u; g < groups; ++g) {
    uint i = group_start(g);
    if (i >= row.n) continue;
    vec4 values = group_of(row, g, i);
    if (!ROOT) values = SUBTRACT_FIRST(values, norm.mean);
    values = MULTIPLY_FIRST(values, norm.scale);
    if (!ROOT) values = SUBTRACT(values, norm.left_over);
    values = MULTIPLY_FIRST(values, norm.inverse);
    if ((FLAGS & HEED_NORM_GAMMA) != 0u) MULTIPLY_BY(values, load_gamma(p.offset[1], p.gamma_stride, i, row.n));
    if ((FLAGS & HEED_NORM_BETA) != 0u) ADD_TO(values, load_beta(p.offset[2], p.beta_stride, i, row.n));
    if ((FLAGS & HEED_NORM_BEHIND) != 0u) ADD_TO(values, load_residual(row.residual, p.residual_stride[4], i, row.n));
    store_result(row.out_at, p.out_stride[4], i, row.n, values);
  }
}

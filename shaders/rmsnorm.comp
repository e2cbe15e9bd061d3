// Root-mean-square normalization; see shared/norm.h. No mean and no beta.
#version 450
#extension GL_GOOGLE_include_directive : require
#include "shared/norm.glsl"
#include "shared/row_scale.glsl"

void main() {
  Row row = this_row();
  uint groups = group_count(row.n);
  hold_row(row);

  uvec4 largest = uvec4(NEAR_ROOT_BITS(p.eps));  // eps counts, so that scaled it stays within f32 too
  [[unroll]] for (uint g = 0u; g < groups; ++g) {
    uint i = group_start(g);
    if (i < row.n) largest = larger_magnitudes(largest, group_of(row, g, i));
  }
  float scale = row_scale(largest);

  vec4 squares = vec4(0.0);
  [[unroll]] for (uint g = 0u; g < groups; ++g) {
    uint i = group_start(g);
    if (i >= row.n) continue;
    vec4 values = COARSE(MULTIPLY_FIRST(group_of(row, g, i), scale));
    ADD_ON_GRID(squares, MULTIPLY_COARSE(values, values));
  }
  float inverse = INVERSE_ROOT(
      ADD(DIVIDE_BY_COUNT(sum_of_row(squares), p.n), scaled_twice(p.eps, scale)));

  [[unroll]] for (uint g = 0u; g < groups; ++g) {
    uint i = group_start(g);
    if (i >= row.n) continue;
    vec4 values = MULTIPLY(MULTIPLY_FIRST(group_of(row, g, i), scale), inverse);
    if ((FLAGS & HEED_NORM_GAMMA) != 0u) MULTIPLY_BY(values, load_gamma(p.offset[1], p.gamma_stride, i, row.n));
    store_result(row.out_at, p.out_stride[4], i, row.n, values);
  }
}

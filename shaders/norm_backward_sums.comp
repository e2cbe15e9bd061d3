// Sums over the rows of a norm's gradients; see shared/norm_backward_sums.h. Local x numbers columns, local y the invocations that share
// the rows of one column.
#version 450
#extension GL_GOOGLE_include_directive : require
#include "shared/elements.glsl"
#include "shared/rows.glsl"
#include "shared/norm_backward_sums.h"

HEED_OPERAND(0, x)
HEED_OPERAND(1, upstream)
HEED_OPERAND(2, made)
layout(set = 0, binding = 3) readonly buffer Rows { vec4 rows[]; };
HEED_RESULT(4, gamma)
HEED_RESULT(5, beta)
HEED_RESULT(6, sums)

// The sum over a column's invocations, for the first of them.
float column_sum(float value) {
  uint base = next_half(), width = gl_WorkGroupSize.x;
  uint slot = base + gl_LocalInvocationID.y * width + gl_LocalInvocationID.x;
  sh_row[slot] = value;
  for (uint height = gl_WorkGroupSize.y / 2u; height > 0u; height /= 2u) {
    barrier();
    if (gl_LocalInvocationID.y < height) ADD_FLUSHED(sh_row[slot], sh_row[slot + height * width]);
  }
  return sh_row[slot];
}

void main() {
  uint column = workgroup_index() * gl_WorkGroupSize.x + gl_LocalInvocationID.x;
  uint count = column < p.n ? p.rows : 0u;
  float products = 0.0, gradients = 0.0, results = 0.0;
  for (uint row = gl_LocalInvocationID.y; row < count; row += gl_WorkGroupSize.y) {
    // Rows usually have a constant distance.
    uvec4 at = p.dim[1] * p.dim[2] == 1u ? uvec4(0u, 0u, 0u, row) : UNRAVEL(row, p.dim);
    float gradient = 0.0;
    if (GAMMA || BETA)
      gradient = one_upstream(p.offset[1] + DOT4(at, p.upstream_stride) + column * p.upstream_stride[4]);
    if (GAMMA) {
      vec4 norm = rows[p.offset[3] + row];  // mean, scale, rounding error of the mean, and the factor
      float value = one_x(p.offset[0] + DOT4(at, p.x_stride) + column * p.x_stride[4]);
      float deviation = MULTIPLY(SUBTRACT_FIRST(value, norm.x), norm.y);
      float normal = MULTIPLY_FIRST(SUBTRACT(deviation, norm.z), norm.w);
      ADD_FLUSHED(products, MULTIPLY_FLUSHED(FLUSH_FOR_PRODUCT(gradient), FLUSH_FOR_PRODUCT(normal)));
    }
    ADD_FLUSHED(gradients, FLUSH_FOR_SUM(gradient));
    if (SUMS) ADD_FLUSHED(results, FLUSH_FOR_SUM(one_made(p.offset[2] + row * p.n + column)));
  }
  if (GAMMA) products = column_sum(products);
  if (BETA) gradients = column_sum(gradients);
  if (SUMS) results = column_sum(results);
  if (gl_LocalInvocationID.y != 0u || count == 0u) return;
  if (GAMMA) put_gamma(p.offset[4] + column, products);
  if (BETA) put_beta(p.offset[5] + column, gradients);
  if (SUMS) put_sums(p.offset[6] + column, results);
}

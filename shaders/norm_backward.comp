// The gradients of layernorm, rmsnorm and l2_normalize; see shared/norm_backward.h. Rows are normalized as in the shaders of
// these, which say why.
#version 450
#extension GL_GOOGLE_include_directive : require
#include "shared/storage.glsl"
#include "shared/row_groups.glsl"
#include "shared/row_scale.glsl"
#include "shared/norm_backward.h"

layout(set = 0, binding = 0) readonly buffer X { A_T x[]; };
layout(set = 0, binding = 0) readonly buffer X4 { A_VEC4 x4[]; };
layout(set = 0, binding = 1) readonly buffer Upstream { A_T upstream[]; };
layout(set = 0, binding = 1) readonly buffer Upstream4 { A_VEC4 upstream4[]; };
layout(set = 0, binding = 2) readonly buffer Gamma { A_T gamma[]; };
layout(set = 0, binding = 2) readonly buffer Gamma4 { A_VEC4 gamma4[]; };
layout(set = 0, binding = 3) readonly buffer Residual { A_T residual[]; };
layout(set = 0, binding = 3) readonly buffer Residual4 { A_VEC4 residual4[]; };
layout(set = 0, binding = 4) writeonly buffer Out { OUT_T result[]; };
layout(set = 0, binding = 4) writeonly buffer Out4 { OUT_VEC4 result4[]; };
layout(set = 0, binding = 5) writeonly buffer Rows { vec4 rows[]; };

HEED_LOAD_GROUP(load_x, x, x4)
HEED_LOAD_GROUP(load_upstream, upstream, upstream4)
HEED_LOAD_GROUP(load_gamma, gamma, gamma4)
HEED_LOAD_GROUP(load_residual, residual, residual4)
HEED_STORE_GROUP(store_result, result, result4)

const uint KIND = FLAGS & HEED_NORM_BACKWARD_KINDS;
const bool CENTERED = KIND == HEED_NORM_BACKWARD_LAYER;

// The factor of rows that are divided by their own length, or by eps where that is larger.
float factor_of_length(float squares, float eps, out bool divides) {
#ifdef CANON
  float inverse = reciprocal_root(squares);
  divides = times(squares, inverse) >= eps;
  return !divides ? reciprocal(eps) : squares == 0.0 ? 0.0 : inverse;
#else
  float length = sqrt(squares);
  divides = length > eps;
  float divisor = divides ? length : eps;
  return divisor > 0.0 ? 1.0 / divisor : 0.0;
#endif
}

// Where a row starts in each operand. n is 0 past the last row.
struct Row {
  uint x, upstream, n;
};

vec4 group_of(Row row, uint g, uint i) { return HELD > 0u ? held[g] : load_x(row.x, p.x_stride[4], i, row.n); }

vec4 gradient_of(Row row, uint i) {
  vec4 gradient = load_upstream(row.upstream, p.upstream_stride[4], i, row.n);
  if ((FLAGS & HEED_NORM_BACKWARD_GAMMA) != 0u)
    MULTIPLY_BY(gradient, load_gamma(p.offset[2], p.gamma_stride, i, row.n));
  return gradient;
}

void main() {
  uint index = row_index();
  uvec4 at = UNRAVEL(index, p.dim);
  Row row;
  row.x = p.offset[0] + DOT4(at, p.x_stride);
  row.upstream = p.offset[1] + DOT4(at, p.upstream_stride);
  row.n = index < p.rows ? p.n : 0u;
  uint groups = group_count(row.n);
  float count = float(p.n);
  if (HELD > 0u) {
    [[unroll]] for (uint g = 0u; g < HELD; ++g)
      if (group_start(g) < row.n) held[g] = load_x(row.x, p.x_stride[4], group_start(g), row.n);
  }

  float shift = 0.0;
  if (CENTERED && row.n > 0u) shift = FROM_A(x[row.x]);
  vec4 sum = vec4(0.0);
  uvec4 largest = uvec4(KIND == HEED_NORM_BACKWARD_L2 ? floatBitsToUint(p.eps) : NEAR_ROOT_BITS(p.eps));
  [[unroll]] for (uint g = 0u; g < groups; ++g) {
    uint i = group_start(g);
    if (i >= row.n) continue;
    vec4 difference = masked(SUBTRACT(group_of(row, g, i), shift), i, row.n);
    ADD_ON_GRID(sum, ON_GRID(difference));
    largest = larger_magnitudes(largest, difference);
  }
  float scale = row_scale(largest);
  float mean = CENTERED ? ADD(shift, DIVIDE(sum_of_row(sum), count)) : 0.0;

  vec4 deviations = vec4(0.0), squares = vec4(0.0);
  [[unroll]] for (uint g = 0u; g < groups; ++g) {
    uint i = group_start(g);
    if (i >= row.n) continue;
    vec4 deviation = masked(MULTIPLY(SUBTRACT(group_of(row, g, i), mean), scale), i, row.n);
    ADD_ON_GRID(deviations, ON_GRID(deviation));
    ADD_ON_GRID(squares, MULTIPLY_COARSE(COARSE(deviation), COARSE(deviation)));
  }
  float square = sum_of_row(squares);
  float left_over = CENTERED ? DIVIDE(sum_of_row(deviations), count) : 0.0, inverse = 0.0;
  bool divides = true;  // by the row's own length
  if (KIND == HEED_NORM_BACKWARD_L2) {
    inverse = factor_of_length(square, MULTIPLY(p.eps, scale), divides);
  } else {
    float variance = NOT_NEGATIVE(SUBTRACT(DIVIDE(square, count), MULTIPLY(left_over, left_over)));
    inverse = INVERSE_ROOT(ADD(variance, MULTIPLY(MULTIPLY(p.eps, scale), scale)));
  }

  vec4 gradients = vec4(0.0), products = vec4(0.0);
  [[unroll]] for (uint g = 0u; g < groups; ++g) {
    uint i = group_start(g);
    if (i >= row.n) continue;
    vec4 gradient = gradient_of(row, i);
    vec4 normal = MULTIPLY(SUBTRACT(MULTIPLY(SUBTRACT(group_of(row, g, i), mean), scale), left_over), inverse);
    ADD_ON_GRID(gradients, ON_GRID(gradient));
    ADD_ON_GRID(products, MULTIPLY_COARSE(COARSE(gradient), COARSE(normal)));
  }
  float product = sum_of_row(products);
  float gradient_mean = CENTERED ? DIVIDE(sum_of_row(gradients), count) : 0.0;
  float share = KIND != HEED_NORM_BACKWARD_L2 ? DIVIDE(product, count) : divides ? product : 0.0;

  uint residual_row = p.offset[3] + DOT4(at, p.residual_stride);
  [[unroll]] for (uint g = 0u; g < groups; ++g) {
    uint i = group_start(g);
    if (i >= row.n) continue;
    vec4 normal = MULTIPLY(SUBTRACT(MULTIPLY(SUBTRACT(group_of(row, g, i), mean), scale), left_over), inverse);
    vec4 rest = SUBTRACT(SUBTRACT(gradient_of(row, i), gradient_mean), MULTIPLY(normal, share));
    vec4 values = MULTIPLY(MULTIPLY(rest, inverse), scale);
    if ((FLAGS & HEED_NORM_BACKWARD_RESIDUAL) != 0u) ADD_TO(values, load_residual(residual_row, 1u, i, row.n));
    store_result(p.offset[4] + index * p.n, 1u, i, row.n, values);
  }
  if ((FLAGS & HEED_NORM_BACKWARD_ROWS) != 0u && lane() == 0u && row.n > 0u)
    rows[p.offset[5] + index] = vec4(mean, scale, left_over, inverse);
}

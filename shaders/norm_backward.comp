// The gradients of layernorm, rmsnorm and l2_normalize; see shared/norm_backward.h. Rows are normalized as in the forward shaders, which
// explain it.
#version 450
#extension GL_GOOGLE_include_directive : require
#include "shared/elements.glsl"
#include "shared/rows.glsl"
#include "shared/row_scale.glsl"
#include "shared/norm_backward.h"

HEED_OPERAND(0, x)
HEED_OPERAND(1, upstream)
HEED_OPERAND(2, gamma)
HEED_OPERAND(3, residual)
HEED_RESULT(4, result)
layout(set = 0, binding = 5) writeonly buffer Rows { vec4 rows[]; };

const bool CENTERED = KIND == HEED_NORM_BACKWARD_LAYER;

#define LEAST_BITS(eps) (KIND == HEED_NORM_BACKWARD_L2 ? floatBitsToUint(eps) : NEAR_ROOT_BITS(eps))

// The factor of rows that are divided by their length, or by eps if that is larger.
float factor_of_length(float squares, float eps, out bool divides) {
#ifdef CANON
  float inverse = reciprocal_root(squares);
  divides = times(squares, inverse) >= eps;
  return !divides ? reciprocal(eps) : squares == 0.0 ? 0.0 : inverse;
#else
  float length = ROOT(squares);
  divides = length > eps;
  float divisor = divides ? length : eps;
  return divisor > 0.0 ? 1.0 / divisor : 0.0;
#endif
}

// The offsets of a row in each operand, and the numbers computed for it.
struct Row {
  uint x, upstream, residual;
  float mean, scale, left_over, inverse, gradients, share;
};

float result_at(Row row, uint i) {
  float gradient = one_upstream(row.upstream + i * p.upstream_stride[4]);
  if (GAMMA) MULTIPLY_BY(gradient, one_gamma(p.offset[2] + i * p.gamma_stride));
  float deviation = MULTIPLY_FIRST(SUBTRACT_FIRST(one_x(row.x + i * p.x_stride[4]), row.mean), row.scale);
  float normal = MULTIPLY(SUBTRACT(deviation, row.left_over), row.inverse);
  float rest = SUBTRACT(SUBTRACT(gradient, row.gradients), MULTIPLY(normal, row.share));
  float value = MULTIPLY(MULTIPLY_FIRST(rest, row.inverse), row.scale);
  if (RESIDUAL) ADD_TO(value, one_residual(row.residual + i));
  return value;
}

void main() {
  uint row = row_index();
  uint n = row < p.rows ? p.n : 0u;
  uvec4 at = UNRAVEL(row, p.dim);
  uint x_row = p.offset[0] + DOT4(at, p.x_stride), upstream_row = p.offset[1] + DOT4(at, p.upstream_stride);
  uint residual_row = p.offset[3] + DOT4(at, p.residual_stride);
  float count = float(p.n);

  float shift = 0.0, sum = 0.0;
  if (CENTERED && n > 0u) shift = one_x(x_row);
  uint largest = LEAST_BITS(p.eps);
  for (uint i = lane(); i < n; i += lanes()) {
    float difference = SUBTRACT_FIRST(one_x(x_row + i * p.x_stride[4]), shift);
    ADD_FLUSHED(sum, FLUSH_FOR_SUM(difference));
    largest = max(largest, floatBitsToUint(difference) & 0x7fffffffu);
  }
  float scale = row_scale(uvec4(largest));
  float mean = CENTERED ? ADD(shift, DIVIDE(row_sum(sum), count)) : 0.0;

  float deviations = 0.0, squares = 0.0;
  for (uint i = lane(); i < n; i += lanes()) {
    float deviation = MULTIPLY_FIRST(SUBTRACT_FIRST(one_x(x_row + i * p.x_stride[4]), mean), scale);
    ADD_FLUSHED(deviations, FLUSH_FOR_SUM(deviation));
    ADD_FLUSHED(squares, MULTIPLY_FLUSHED(FLUSH_FOR_PRODUCT(deviation), FLUSH_FOR_PRODUCT(deviation)));
  }
  squares = row_sum(squares);
  float left_over = CENTERED ? DIVIDE(row_sum(deviations), count) : 0.0, inverse = 0.0;
  bool divides = true;  // whether the row is divided by its own length
  if (KIND == HEED_NORM_BACKWARD_L2) {
    inverse = factor_of_length(squares, MULTIPLY(p.eps, scale), divides);
  } else {
    float variance = NOT_NEGATIVE(SUBTRACT(DIVIDE(squares, count), MULTIPLY(left_over, left_over)));
    inverse = INVERSE_ROOT(ADD(variance, scaled_twice(p.eps, scale)));
  }

  float gradients = 0.0, products = 0.0;
  for (uint i = lane(); i < n; i += lanes()) {
    float gradient = one_upstream(upstream_row + i * p.upstream_stride[4]);
    if (GAMMA) MULTIPLY_BY(gradient, one_gamma(p.offset[2] + i * p.gamma_stride));
    float deviation = MULTIPLY_FIRST(SUBTRACT_FIRST(one_x(x_row + i * p.x_stride[4]), mean), scale);
    float normal = MULTIPLY(SUBTRACT(deviation, left_over), inverse);
    ADD_FLUSHED(gradients, FLUSH_FOR_SUM(gradient));
    ADD_FLUSHED(products, MULTIPLY_FLUSHED(FLUSH_FOR_PRODUCT(gradient), FLUSH_FOR_PRODUCT(normal)));
  }
  products = row_sum(products);
  gradients = CENTERED ? DIVIDE(row_sum(gradients), count) : 0.0;
  float share = KIND != HEED_NORM_BACKWARD_L2 ? DIVIDE(products, count) : divides ? products : 0.0;

  Row made = Row(x_row, upstream_row, residual_row, mean, scale, left_over, inverse, gradients, share);
  uint to = p.offset[4] + row * p.n;
  for (uint first = lane() * EACH; first < n + skipped(to); first += lanes() * EACH) {
    uint begin = first - skipped(to);
    bool one = begin < n, other = EACH == 2u && begin + 1u < n;
    vec2 values = vec2(0.0);
    if (one) values.x = result_at(made, begin);
    if (other) values.y = result_at(made, begin + 1u);
    put_two_result(to + begin, to + begin + 1u, one, other, values);
  }
  if (ROWS && lane() == 0u && n > 0u) rows[p.offset[5] + row] = vec4(mean, scale, left_over, inverse);
}

// The gradients of layernorm, rmsnorm and l2_normalize; see shared/norm_backward.h. Rows are normalized as in the shaders of
// these, which say why.
#version 450
#extension GL_GOOGLE_include_directive : require
#include "shared/storage.glsl"
#include "shared/rows.glsl"
#include "shared/row_scale.glsl"
#include "shared/norm_backward.h"

layout(set = 0, binding = 0) readonly buffer X { A_T x[]; };
layout(set = 0, binding = 1) readonly buffer Upstream { A_T upstream[]; };
layout(set = 0, binding = 2) readonly buffer Gamma { A_T gamma[]; };
layout(set = 0, binding = 3) readonly buffer Residual { A_T residual[]; };
layout(set = 0, binding = 4) writeonly buffer Out { OUT_T result[]; };
layout(set = 0, binding = 5) writeonly buffer Rows { vec4 rows[]; };

const bool CENTERED = KIND == HEED_NORM_BACKWARD_LAYER;

void main() {
  uint row = row_index();
  uint n = row < p.rows ? p.n : 0u;
  uvec4 at = UNRAVEL(row, p.dim);
  uint x_row = p.offset[0] + DOT4(at, p.x_stride), upstream_row = p.offset[1] + DOT4(at, p.upstream_stride);
  uint residual_row = p.offset[3] + DOT4(at, p.residual_stride);
  float count = float(p.n);

  float shift = 0.0, sum = 0.0;
  if (CENTERED && n > 0u) shift = FROM_A(x[x_row]);
  uint largest = floatBitsToUint(KIND == HEED_NORM_BACKWARD_L2 ? p.eps : sqrt(p.eps));
  for (uint i = lane(); i < n; i += lanes()) {
    float difference = FROM_A(x[x_row + i * p.x_stride[4]]) - shift;
    sum += difference;
    largest = max(largest, floatBitsToUint(difference) & 0x7fffffffu);
  }
  float scale = row_scale(uvec4(largest));
  float mean = CENTERED ? shift + row_sum(sum) / count : 0.0;

  float deviations = 0.0, squares = 0.0;
  for (uint i = lane(); i < n; i += lanes()) {
    float deviation = (FROM_A(x[x_row + i * p.x_stride[4]]) - mean) * scale;
    deviations += deviation;
    squares += deviation * deviation;
  }
  squares = row_sum(squares);
  float left_over = CENTERED ? row_sum(deviations) / count : 0.0, inverse = 0.0;
  bool divides = true;  // by the row's own length
  if (KIND == HEED_NORM_BACKWARD_L2) {
    float length = sqrt(squares), eps = p.eps * scale;
    divides = length > eps;
    float divisor = divides ? length : eps;
    if (divisor > 0.0) inverse = 1.0 / divisor;
  } else {
    float variance = max(squares / count - left_over * left_over, 0.0);
    inverse = inversesqrt(variance + (p.eps * scale) * scale);
  }

  float gradients = 0.0, products = 0.0;
  for (uint i = lane(); i < n; i += lanes()) {
    float gradient = FROM_A(upstream[upstream_row + i * p.upstream_stride[4]]);
    if (GAMMA) gradient *= FROM_A(gamma[p.offset[2] + i * p.gamma_stride]);
    gradients += gradient;
    products += gradient * (((FROM_A(x[x_row + i * p.x_stride[4]]) - mean) * scale - left_over) * inverse);
  }
  products = row_sum(products);
  gradients = CENTERED ? row_sum(gradients) / count : 0.0;
  float share = KIND != HEED_NORM_BACKWARD_L2 ? products / count : divides ? products : 0.0;

  for (uint i = lane(); i < n; i += lanes()) {
    float gradient = FROM_A(upstream[upstream_row + i * p.upstream_stride[4]]);
    if (GAMMA) gradient *= FROM_A(gamma[p.offset[2] + i * p.gamma_stride]);
    float normal = ((FROM_A(x[x_row + i * p.x_stride[4]]) - mean) * scale - left_over) * inverse;
    float value = ((gradient - gradients) - normal * share) * inverse * scale;
    if (RESIDUAL) value += FROM_A(residual[residual_row + i]);
    result[p.offset[4] + row * p.n + i] = TO_OUT(value);
  }
  if (ROWS && lane() == 0u && n > 0u) rows[p.offset[5] + row] = vec4(mean, scale, left_over, inverse);
}

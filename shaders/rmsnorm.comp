// Root-mean-square normalization; see shared/norm.h. No mean and no beta.
#version 450
#extension GL_GOOGLE_include_directive : require
#include "shared/storage.glsl"
#include "shared/rows.glsl"
#include "shared/norm.h"

layout(constant_id = 3) const uint FLAGS = 0;

layout(set = 0, binding = 0) readonly buffer X { A_T x[]; };
layout(set = 0, binding = 1) readonly buffer Gamma { A_T gamma[]; };
layout(set = 0, binding = 3) readonly buffer Residual { A_T residual[]; };
layout(set = 0, binding = 4) writeonly buffer Out { OUT_T result[]; };

float value_at(uint x_row, uint residual_row, uint i) {
  float value = float(x[x_row + i * p.x_stride[4]]);
  if ((FLAGS & HEED_NORM_RESIDUAL) != 0u) value += float(residual[residual_row + i * p.residual_stride[4]]);
  return value;
}

void main() {
  uint row = row_index();
  uint n = row < p.rows ? p.n : 0u;
  uvec4 at = UNRAVEL(row, p.dim);
  uint x_row = p.offset[0] + DOT4(at, p.x_stride);
  uint residual_row = p.offset[3] + DOT4(at, p.residual_stride);
  uint out_row = p.offset[4] + DOT4(at, p.out_stride);

  float squares = 0.0;
  for (uint i = lane(); i < n; i += lanes()) {
    float value = value_at(x_row, residual_row, i);
    squares += value * value;
  }
  float inverse = inversesqrt(row_sum(squares) / float(p.n) + p.eps);

  for (uint i = lane(); i < n; i += lanes()) {
    float value = value_at(x_row, residual_row, i) * inverse;
    if ((FLAGS & HEED_NORM_GAMMA) != 0u) value *= float(gamma[p.offset[1] + i * p.gamma_stride]);
    result[out_row + i * p.out_stride[4]] = TO_OUT(value);
  }
}

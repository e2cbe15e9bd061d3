// The gradient of softmax; see shared/softmax_backward.h. Where a weight is 0 its gradient may be anything.
#version 450
#extension GL_GOOGLE_include_directive : require
#include "shared/storage.glsl"
#include "shared/rows.glsl"
#include "shared/softmax_backward.h"

layout(set = 0, binding = 0) readonly buffer Weights { A_T weights[]; };
layout(set = 0, binding = 1) readonly buffer Upstream { A_T upstream[]; };
layout(set = 0, binding = 2) readonly buffer Visible { A_T visible[]; };
layout(set = 0, binding = 3) writeonly buffer Out { OUT_T result[]; };

void main() {
  uint row = row_index();
  uint n = row < p.rows ? p.n : 0u;
  uvec4 at = UNRAVEL(row, p.dim);
  uint weights_row = p.offset[0] + DOT4(at, p.weights_stride);
  uint upstream_row = p.offset[1] + DOT4(at, p.upstream_stride);
  uint visible_row = p.offset[2] + DOT4(at, p.visible_stride);

  float sum = 0.0;
  for (uint i = lane(); i < n; i += lanes()) {
    float weight = COARSE(FROM_A(weights[weights_row + i * p.weights_stride[4]]));
    if (weight != 0.0)
      ADD_ON_GRID(sum, MULTIPLY_COARSE(weight, COARSE(FROM_A(upstream[upstream_row + i * p.upstream_stride[4]]))));
  }
  sum = row_sum(sum);
  for (uint i = lane(); i < n; i += lanes()) {
    float weight = COARSE(FROM_A(weights[weights_row + i * p.weights_stride[4]])), value = 0.0;
    bool passes = weight != 0.0;
    if (VISIBLE) passes = passes && FROM_A(visible[visible_row + i * p.visible_stride[4]]) != 0.0;
    if (passes)
      value = MULTIPLY(
          p.scale, MULTIPLY(weight, SUBTRACT(FROM_A(upstream[upstream_row + i * p.upstream_stride[4]]), sum)));
    result[p.offset[3] + row * p.n + i] = TO_OUT(value);
  }
}

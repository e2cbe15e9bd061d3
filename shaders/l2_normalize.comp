// Division of each row by its length; see shared/l2_normalize.h. Squares are taken of values divided by the row's
// largest, since those of 1e20 or 1e-25 leave the range of f32.
#version 450
#extension GL_GOOGLE_include_directive : require
#include "shared/storage.glsl"
#include "shared/rows.glsl"
#include "shared/l2_normalize.h"

layout(set = 0, binding = 0) readonly buffer X { A_T x[]; };
layout(set = 0, binding = 1) writeonly buffer Out { OUT_T result[]; };

void main() {
  uint row = row_index();
  uint n = row < p.rows ? p.n : 0u;
  uvec4 at = UNRAVEL(row, p.dim);
  uint x_row = p.offset[0] + DOT4(at, p.x_stride);
  uint out_row = p.offset[1] + DOT4(at, p.out_stride);

  float largest = 0.0;
  for (uint i = lane(); i < n; i += lanes()) largest = max_with_nan(largest, abs(float(x[x_row + i * p.x_stride[4]])));
  largest = row_max(largest);

  float squares = 0.0;
  if (largest != 0.0) {
    for (uint i = lane(); i < n; i += lanes()) {
      float value = float(x[x_row + i * p.x_stride[4]]) / largest;
      squares += value * value;
    }
  }
  float length = largest * sqrt(row_sum(squares));
  float divisor = length < p.eps ? p.eps : length;

  for (uint i = lane(); i < n; i += lanes()) {
    float value = float(x[x_row + i * p.x_stride[4]]);
    // 0 / 0 with eps = 0 is left as the 0 it comes from.
    result[out_row + i * p.out_stride[4]] = TO_OUT(value == 0.0 ? 0.0 : value / divisor);
  }
}

// The gradient of softmax; see shared/softmax_backward.h. Where a weight is 0 its gradient may be anything.
#version 450
#extension GL_GOOGLE_include_directive : require
#include "shared/elements.glsl"
#include "shared/rows.glsl"
#include "shared/softmax_backward.h"

HEED_OPERAND(0, weights)
HEED_OPERAND(1, upstream)
HEED_OPERAND(2, visible)
HEED_RESULT(3, result)

void main() {
  uint row = row_index();
  uint n = row < p.rows ? p.n : 0u;
  uvec4 at = UNRAVEL(row, p.dim);
  uint weights_row = p.offset[0] + DOT4(at, p.weights_stride);
  uint upstream_row = p.offset[1] + DOT4(at, p.upstream_stride);
  uint visible_row = p.offset[2] + DOT4(at, p.visible_stride);

  float sum = 0.0;
  for (uint i = lane(); i < n; i += lanes()) {
    float weight = COARSE(one_weights(weights_row + i * p.weights_stride[4]));
    if (weight != 0.0)
      ADD_ON_GRID(sum, MULTIPLY_COARSE(weight, COARSE(one_upstream(upstream_row + i * p.upstream_stride[4]))));
  }
  sum = row_sum(sum);
  uint to = p.offset[3] + row * p.n;
  for (uint first = lane() * EACH; first < n + skipped(to); first += lanes() * EACH) {
    float values[2] = float[2](0.0, 0.0);
    uint begin = first - skipped(to);
    [[unroll]] for (uint e = 0u; e < 2u; ++e) {
      uint i = begin + e;
      if (e >= EACH || i >= n) continue;
      float weight = COARSE(one_weights(weights_row + i * p.weights_stride[4]));
      bool passes = weight != 0.0;
      if (VISIBLE) passes = passes && one_visible(visible_row + i * p.visible_stride[4]) != 0.0;
      if (passes)
        values[e] = MULTIPLY(
            p.scale, MULTIPLY(weight, SUBTRACT(one_upstream(upstream_row + i * p.upstream_stride[4]), sum)));
    }
    put_two_result(to + begin, to + begin + 1u, begin < n, EACH == 2u && begin + 1u < n, values);
  }
}

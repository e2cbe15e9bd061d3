// The gradient of softmax; see shared/softmax_backward.h. If a weight is 0 its gradient is not used, and may be NaN.
#version 450
#extension GL_GOOGLE_include_directive : require
#include "shared/elements.glsl"
#include "shared/rows.glsl"
#include "shared/softmax_backward.h"

HEED_OPERAND(0, weights)
HEED_OPERAND(1, upstream)
HEED_OPERAND(2, visible)
HEED_RESULT(3, result)

// Offsets of a row in each operand.
struct Row {
  uint weights, upstream, visible;
};

float gradient(Row row, uint i, float sum) {
  float weight = FLUSH_FOR_PRODUCT(one_weights(row.weights + i * p.weights_stride[4]));
  bool passes = weight != 0.0;
  if (VISIBLE) passes = passes && one_visible(row.visible + i * p.visible_stride[4]) != 0.0;
  if (!passes) return 0.0;
  return MULTIPLY(p.scale, MULTIPLY(weight, SUBTRACT(one_upstream(row.upstream + i * p.upstream_stride[4]), sum)));
}

void main() {
  uint index = row_index();
  uint n = index < p.rows ? p.n : 0u;
  uvec4 at = UNRAVEL(index, p.dim);
  Row row = Row(p.offset[0] + DOT4(at, p.weights_stride), p.offset[1] + DOT4(at, p.upstream_stride),
                p.offset[2] + DOT4(at, p.visible_stride));

  float sum = 0.0;
  for (uint i = lane(); i < n; i += lanes()) {
    float weight = FLUSH_FOR_PRODUCT(one_weights(row.weights + i * p.weights_stride[4]));
    if (weight != 0.0)
      ADD_FLUSHED(sum, MULTIPLY_FLUSHED(weight, FLUSH_FOR_PRODUCT(one_upstream(row.upstream + i * p.upstream_stride[4]))));
  }
  sum = row_sum(sum);
  uint to = p.offset[3] + index * p.n;
  for (uint first = lane() * EACH; first < n + skipped(to); first += lanes() * EACH) {
    uint begin = first - skipped(to);
    bool one = begin < n, other = EACH == 2u && begin + 1u < n;
    vec2 values = vec2(0.0);
    if (one) values.x = gradient(row, begin, sum);
    if (other) values.y = gradient(row, begin + 1u, sum);
    put_two_result(to + begin, to + begin + 1u, one, other, values);
  }
}

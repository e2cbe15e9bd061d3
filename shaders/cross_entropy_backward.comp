// The gradient of cross entropy; see shared/cross_entropy_backward.h. Probabilities are not stored. Infinities are never used in
// arithmetic: if the loss has no gradient, because no logit of a row is finite or one is plus infinity, all results are NaN.
#version 450
#extension GL_GOOGLE_include_directive : require
#include "shared/elements.glsl"
#include "shared/rows.glsl"
#include "shared/cross_entropy_backward.h"

HEED_OPERAND(0, x)
layout(set = 0, binding = 1) readonly buffer Labels { int labels[]; };
layout(set = 0, binding = 2) readonly buffer Upstream { float upstream[]; };
HEED_RESULT(3, result)

const float LOWEST = -3.402823466e38;
const uint INFINITY_BITS = 0x7f800000u, NAN_BITS = 0x7fc00000u;

float power_of(float value, float largest) { return is_minus_infinity(value) ? 0.0 : EXP(SUBTRACT(value, largest)); }

// A row: its offset, its label, and the values that all elements of its gradient share.
struct Row {
  uint x, label;
  bool strange;
  float largest, others, inverse, g, everywhere;
};

float gradient(Row row, uint i) {
  if (row.strange) return uintBitsToFloat(NAN_BITS);
  if (i == row.label)
    return MULTIPLY(row.g, SUBTRACT(SUBTRACT(p.smoothing, row.everywhere), MULTIPLY(row.others, row.inverse)));
  float power = power_of(one_x(row.x + i * p.x_stride[4]), row.largest);
  return MULTIPLY(row.g, SUBTRACT(MULTIPLY(power, row.inverse), row.everywhere));
}

void main() {
  uint row = row_index();
  uint n = row < p.rows ? p.n : 0u;
  uvec4 at = UNRAVEL(row, p.dim);
  uint x_row = p.offset[0] + DOT4(at, p.x_stride);
  uint label = ~0u;
  if (n > 0u) label = uint(labels[p.offset[1] + DOT4(at, p.label_stride)]);
  bool counts = label < n;

  float largest = LOWEST;
  for (uint i = lane(); i < n; i += lanes()) {
    float value = one_x(x_row + i * p.x_stride[4]);
    if (!is_minus_infinity(value)) largest = max_with_nan(largest, value);
  }
  largest = row_max(largest);
  bool strange = (floatBitsToUint(largest) & 0x7fffffffu) >= INFINITY_BITS;  // infinite or NaN

  // The label's probability minus 1 is computed as the negated sum of the others, which keeps its digits if it is small.
  float others = 0.0, own = 0.0;
  for (uint i = lane(); i < n && !strange; i += lanes())
    if (i != label) ADD_FLUSHED(others, power_of(one_x(x_row + i * p.x_stride[4]), largest));
  others = row_sum(others);
  if (counts && !strange) own = power_of(one_x(x_row + label * p.x_stride[4]), largest);
  float total = ADD_ONCE(others, own);
  strange = strange || total == 0.0;
  float inverse = strange ? 0.0 : INVERSE(total);
  float g = 0.0;
  if (counts) g = FLUSHED(upstream[p.offset[2] + DOT4(at, p.upstream_stride)]);
  Row made = Row(x_row, label, strange, largest, others, inverse, g, DIVIDE_BY_COUNT(p.smoothing, p.n));

  uint to = p.offset[3] + row * p.n;
  for (uint first = lane() * EACH; first < n + skipped(to); first += lanes() * EACH) {
    uint begin = first - skipped(to);
    bool one = begin < n, other = EACH == 2u && begin + 1u < n;
    vec2 values = vec2(0.0);
    if (one && counts) values.x = gradient(made, begin);
    if (other && counts) values.y = gradient(made, begin + 1u);
    put_two_result(to + begin, to + begin + 1u, one, other, values);
  }
}

// Scatters a slice into zeros; see shared/slice_backward.h. Dividing an element's offset by the strides, from the largest to the smallest,
// gives its index in x, or shows that it is outside of x.
#version 450
#extension GL_GOOGLE_include_directive : require
#include "shared/bits.glsl"
#include "shared/groups.glsl"
#include "shared/slice_backward.h"

HEED_BITS(0, x)
HEED_MOVED_BITS(1, result)

// The bits of an element of the result.
uint bits_of(uint element) {
  if (element < p.place) return 0u;
  uint rest = element - p.place, at = p.offset[0];
  bool is_in = true;
  for (uint d = 0u; d < 5u; ++d) {
    uint index = rest / p.place_stride[d];
    rest %= p.place_stride[d];
    is_in = is_in && index < p.dim[d];
    at += index * p.x_stride[d];
  }
  uint bits = 0u;
  if (is_in && rest == 0u) bits = bits_x(at);
  return bits;
}

Moved moved(uint element) {
  if (element >= p.elements) return NONE;
  return Moved(bits_of(element), p.offset[1] + element, true);
}

void main() {
  uint first = (workgroup_index() * gl_WorkGroupSize.x + gl_LocalInvocationID.x) * EACH;
  if (first >= p.elements) return;
  Moved next = NONE;
  if (EACH > 1u) next = moved(first + 1u);
  move_result(moved(first), next, NONE, NONE);
}

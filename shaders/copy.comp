// out = a, or a + b for integers; and copies of bits, for types without floating-point arithmetic.
#version 450
#extension GL_GOOGLE_include_directive : require
#include "shared/bits.glsl"
#include "shared/groups.glsl"
#define HEED_COPY
#include "shared/elementwise.h"

HEED_BITS(0, a)
HEED_BITS(1, b)
HEED_MOVED_BITS(2, result)

Moved moved(uint element) {
  if (element >= p.elements) return NONE;
  uint from = p.offset[0], other = p.offset[1], to = p.offset[2];
  for (uint d = 5u; d-- > 5u - p.rank;) {
    uint index = element % p.dim[d];
    element /= p.dim[d];
    from += index * p.a_stride[d];
    other += index * p.b_stride[d];
    to += index * p.out_stride[d];
  }
  uint bits = bits_a(from);
  if (KIND == HEED_ELEMENTWISE_ADD) bits += bits_b(other);
  return Moved(bits, to, true);
}

void main() {
  uint first = workgroup_index() * gl_WorkGroupSize.x * PER_INVOCATION + gl_LocalInvocationID.x * EACH;
  for (uint i = 0u; i < PER_INVOCATION; i += EACH) {
    uint start = first + i * gl_WorkGroupSize.x;
    if (start >= p.elements) return;
    Moved a = moved(start), b = NONE, c = NONE, d = NONE;
    if (EACH > 1u) b = moved(start + 1u);
    if (EACH > 2u) c = moved(start + 2u);
    if (EACH > 2u) d = moved(start + 3u);
    move_result(a, b, c, d);
  }
}

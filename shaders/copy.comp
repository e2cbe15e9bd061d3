// out = a for types without arithmetic: I32 as words, U8 as bytes of words.
#version 450
#extension GL_GOOGLE_include_directive : require
#include "shared/groups.glsl"
#define HEED_COPY
#include "shared/elementwise.h"

layout(set = 0, binding = 0) readonly buffer A { uint a[]; };
layout(set = 0, binding = 2) buffer Out { uint result[]; };

#if A_BITS == 8
// Without 8-bit storage a byte is written by clearing and then setting its bits in a word. Each step leaves the
// word's other bytes alone, so invocations that share a word do not disturb each other, in any order.
void copy(uint from, uint to) {
  uint value = (a[from / 4u] >> (8u * (from % 4u))) & 0xffu;
  uint shift = 8u * (to % 4u);
  atomicAnd(result[to / 4u], ~(0xffu << shift));
  atomicOr(result[to / 4u], value << shift);
}
#else
void copy(uint from, uint to) { result[to] = a[from]; }
#endif

void main() {
  uint first = workgroup_index() * gl_WorkGroupSize.x * PER_INVOCATION + gl_LocalInvocationID.x;
  for (uint i = 0u; i < PER_INVOCATION; ++i) {
    uint element = first + i * gl_WorkGroupSize.x;
    if (element >= p.elements) return;
    uint from = p.offset[0], to = p.offset[2];
    for (uint d = 5u; d-- > 5u - p.rank;) {
      uint index = element % p.dim[d];
      element /= p.dim[d];
      from += index * p.a_stride[d];
      to += index * p.out_stride[d];
    }
    copy(from, to);
  }
}

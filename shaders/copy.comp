// out = a, or a + b, for types without arithmetic of floats: I32 as words, U8 as bytes of words; and copies of 16 bits.
#version 450
#extension GL_GOOGLE_include_directive : require
#if A_BITS == 16
#extension GL_EXT_shader_16bit_storage : require
#define A_T uint16_t
#else
#define A_T uint
#endif
#include "shared/groups.glsl"
#define HEED_COPY
#include "shared/elementwise.h"

layout(set = 0, binding = 0) readonly buffer A { A_T a[]; };
layout(set = 0, binding = 1) readonly buffer B { A_T b[]; };
layout(set = 0, binding = 2) buffer Out { A_T result[]; };

#if A_BITS == 8
#include "shared/bytes.glsl"
void copy(uint from, uint other, uint to) { HEED_STORE_BYTE(result, to, byte_in(a[from / 4u], from)); }
#elif A_BITS == 16
void copy(uint from, uint other, uint to) { result[to] = a[from]; }
#else
void copy(uint from, uint other, uint to) {
  uint value = a[from];
  if (KIND == HEED_ELEMENTWISE_ADD) value += b[other];
  result[to] = value;
}
#endif

void main() {
  uint first = workgroup_index() * gl_WorkGroupSize.x * PER_INVOCATION + gl_LocalInvocationID.x;
  for (uint i = 0u; i < PER_INVOCATION; ++i) {
    uint element = first + i * gl_WorkGroupSize.x;
    if (element >= p.elements) return;
    uint from = p.offset[0], other = p.offset[1], to = p.offset[2];
    for (uint d = 5u; d-- > 5u - p.rank;) {
      uint index = element % p.dim[d];
      element /= p.dim[d];
      from += index * p.a_stride[d];
      other += index * p.b_stride[d];
      to += index * p.out_stride[d];
    }
    copy(from, other, to);
  }
}

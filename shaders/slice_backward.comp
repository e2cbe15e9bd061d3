// A slice put back among zeros; see shared/slice_backward.h. The remainders of an element's place by the strides, from the
// largest to the smallest, are its index in x, or are outside of x.
#version 450
#extension GL_GOOGLE_include_directive : require
#ifdef COPY  // words, of which none changes
#define A_T uint
#define OUT_T uint
#define FROM_A(word) uintBitsToFloat(word)
#define TO_OUT(value) floatBitsToUint(value)
#else
#include "shared/storage.glsl"
#endif
#include "shared/groups.glsl"
#include "shared/slice_backward.h"

layout(set = 0, binding = 0) readonly buffer X { A_T x[]; };
layout(set = 0, binding = 1) writeonly buffer Out { OUT_T result[]; };

void main() {
  uint element = workgroup_index() * gl_WorkGroupSize.x + gl_LocalInvocationID.x;
  if (element >= p.elements) return;
  float value = 0.0;
  if (element >= p.place) {
    uint rest = element - p.place, at = p.offset[0];
    bool is_in = true;
    for (uint d = 0u; d < 5u; ++d) {
      uint index = rest / p.place_stride[d];
      rest %= p.place_stride[d];
      is_in = is_in && index < p.dim[d];
      at += index * p.x_stride[d];
    }
    if (is_in && rest == 0u) value = FROM_A(x[at]);
  }
  result[p.offset[1] + element] = TO_OUT(value);
}

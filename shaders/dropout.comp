// Dropout; see shared/dropout.h. One invocation makes the four elements that share a Philox block.
#version 450
#extension GL_GOOGLE_include_directive : require
#include "shared/storage.glsl"
#include "shared/groups.glsl"
#include "shared/philox.glsl"
#include "shared/dropout.h"

layout(set = 0, binding = 0) readonly buffer X { A_T x[]; };
layout(set = 0, binding = 1) writeonly buffer Out { OUT_T result[]; };

void main() {
  uint block = workgroup_index() * gl_WorkGroupSize.x + gl_LocalInvocationID.x;
  if (block > (p.elements - 1u) / 4u) return;
  uvec4 words = dropout_block(p.seed, p.stream, block);
  for (uint i = 0u; i < 4u && block * 4u + i < p.elements; ++i) {
    uint rest = block * 4u + i;
    uint from = p.offset[0], to = p.offset[1];
    for (uint d = 5u; d-- > 5u - p.rank;) {
      uint index = rest % p.dim[d];
      rest /= p.dim[d];
      from += index * p.x_stride[d];
      to += index * p.out_stride[d];
    }
    float value = words[i] < p.threshold ? 0.0 : float(x[from]) * p.scale;
    result[to] = TO_OUT(value);
  }
}

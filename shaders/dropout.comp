// Dropout; see shared/dropout.h. One invocation makes the four elements that share a Philox block.
#version 450
#extension GL_GOOGLE_include_directive : require
#extension GL_EXT_control_flow_attributes : require
#include "shared/storage.glsl"
#include "shared/groups.glsl"
#include "shared/philox.glsl"
#include "shared/dropout.h"

layout(set = 0, binding = 0) readonly buffer X { A_T x[]; };
layout(set = 0, binding = 0) readonly buffer X4 { A_VEC4 x4[]; };
layout(set = 0, binding = 1) writeonly buffer Out { OUT_T result[]; };
layout(set = 0, binding = 1) writeonly buffer Out4 { OUT_VEC4 result4[]; };

// Where an element lies in x and in the result.
uvec2 places(uint element) {
  uvec2 at = uvec2(p.offset[0], p.offset[1]);
  for (uint d = 5u; d-- > 5u - p.rank;) {
    uint index = element % p.dim[d];
    element /= p.dim[d];
    at += index * uvec2(p.x_stride[d], p.out_stride[d]);
  }
  return at;
}

void main() {
  uint block = workgroup_index() * gl_WorkGroupSize.x + gl_LocalInvocationID.x;
  if (block > (p.elements - 1u) / 4u) return;
  uvec4 words = dropout_block(p.seed, p.stream, block);
  if (VEC4) {
    uvec2 at = places(block * 4u);
    vec4 values = FROM_A4(x4[at.x / 4u]);
    [[unroll]] for (uint i = 0u; i < 4u; ++i) values[i] = words[i] < p.threshold ? 0.0 : MULTIPLY(values[i], p.scale);
    result4[at.y / 4u] = TO_OUT4(values);
    return;
  }
  for (uint i = 0u; i < 4u && block * 4u + i < p.elements; ++i) {
    uvec2 at = places(block * 4u + i);
    float value = words[i] < p.threshold ? 0.0 : MULTIPLY(FROM_A(x[at.x]), p.scale);
    result[at.y] = TO_OUT(value);
  }
}

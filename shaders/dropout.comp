// Dropout; see shared/dropout.h. One invocation computes the four elements that share a Philox block.
#version 450
#extension GL_GOOGLE_include_directive : require
#include "shared/elements.glsl"
#include "shared/groups.glsl"
#include "shared/philox.glsl"
#include "shared/dropout.h"

HEED_OPERAND4(0, x)
HEED_RESULT4(1, result)

// Offsets of an element in x and in the result.
uvec2 places(uint element) {
  uvec2 at = uvec2(p.offset[0], p.offset[1]);
  for (uint d = 5u; d-- > 5u - p.rank;) {
    uint index = element % p.dim[d];
    element /= p.dim[d];
    at += index * uvec2(p.x_stride[d], p.out_stride[d]);
  }
  return at;
}

float dropped(uint at, uint word) { return word < p.threshold ? 0.0 : MULTIPLY(one_x(at), p.scale); }

void main() {
  uint block = workgroup_index() * gl_WorkGroupSize.x + gl_LocalInvocationID.x;
  if (block > (p.elements - 1u) / 4u) return;
  uvec4 words = dropout_block(p.seed, p.stream, block);
  if (VEC4) {
    uvec2 at = places(block * 4u);
    vec4 values = four_x(at.x);
    [[unroll]] for (uint i = 0u; i < 4u; ++i) values[i] = words[i] < p.threshold ? 0.0 : MULTIPLY(values[i], p.scale);
    put_four_result(at.y, values);
    return;
  }
  for (uint i = 0u; i < 4u && block * 4u + i < p.elements; i += EACH) {
    bool second = EACH == 2u && block * 4u + i + 1u < p.elements;
    uvec2 at = places(block * 4u + i), next = at;
    vec2 values = vec2(dropped(at.x, words[i]), 0.0);
    if (second) {
      next = places(block * 4u + i + 1u);
      values.y = dropped(next.x, words[i + 1u]);
    }
    put_two_result(at.y, next.y, true, second, values);
  }
}

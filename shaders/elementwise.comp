// out = act(scale * (a op b)) in f32, with broadcast by strides, over floating-point storage.
#version 450
#extension GL_GOOGLE_include_directive : require
#include "shared/elements.glsl"
#include "shared/groups.glsl"
#include "shared/activation_backward.glsl"
#include "shared/elementwise.h"

HEED_OPERAND4(0, a)
HEED_OPERAND4(1, b)
HEED_RESULT4(2, result)

// Offsets of an element in a, b and the result.
uvec3 places_of(uint element) {
  uvec3 at = uvec3(p.offset[0], p.offset[1], p.offset[2]);
  for (uint i = 4u; i > 5u - p.rank; --i) {
    uint index = element % p.dim[i];
    element /= p.dim[i];
    at += index * uvec3(p.a_stride[i], p.b_stride[i], p.out_stride[i]);
  }
  uint outermost = 5u - p.rank;
  return at + element * uvec3(p.a_stride[outermost], p.b_stride[outermost], p.out_stride[outermost]);
}

void make_four(uint element) {
  uvec3 at = places_of(element);
  vec4 value = four_a(at.x);
  if (KIND == HEED_ELEMENTWISE_ADD) value += four_b(at.y);
  if (KIND == HEED_ELEMENTWISE_MUL) value *= four_b(at.y);
  if (KIND == HEED_ELEMENTWISE_ACTIVATION_BACKWARD) {
    vec4 before = four_b(at.y);
    [[unroll]] for (uint c = 0u; c < 4u; ++c) value[c] *= activation_derivative(ACTIVATION, before[c]);
  } else {
    value *= p.scale;
    [[unroll]] for (uint c = 0u; c < 4u; ++c) value[c] = activate(ACTIVATION, value[c]);
  }
  put_four_result(at.z, value);
}

float make_one(uvec3 at) {
  float value = one_a(at.x);
  if (KIND == HEED_ELEMENTWISE_ADD) value += one_b(at.y);
  if (KIND == HEED_ELEMENTWISE_MUL) value *= one_b(at.y);
  if (KIND == HEED_ELEMENTWISE_ACTIVATION_BACKWARD) return value * activation_derivative(ACTIVATION, one_b(at.y));
  return activate(ACTIVATION, value * p.scale);
}

void main() {
  uint first = workgroup_index() * gl_WorkGroupSize.x * PER_INVOCATION + gl_LocalInvocationID.x;
  if (VEC4) {
    for (uint i = 0u; i < PER_INVOCATION; ++i) {
      uint element = (first + i * gl_WorkGroupSize.x) * 4u;
      if (element < p.elements) make_four(element);
    }
    return;
  }
  for (uint i = 0u; i < PER_INVOCATION; ++i) {
    uint element = first + i * gl_WorkGroupSize.x;
    if (element >= p.elements) continue;
    uvec3 at = places_of(element);
    put_result(at.z, make_one(at));
  }
}

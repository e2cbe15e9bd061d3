// out = act(scale * (a op b)) in f32, with broadcast by strides, over floating-point storage.
#version 450
#extension GL_GOOGLE_include_directive : require
#extension GL_EXT_control_flow_attributes : require
#include "shared/storage.glsl"
#include "shared/groups.glsl"
#include "shared/activation_backward.glsl"
#include "shared/elementwise.h"

#ifdef A_NARROW
layout(set = 0, binding = 0) readonly buffer A { uint a[]; };
layout(set = 0, binding = 0) readonly buffer A4 { uvec2 a4[]; };
layout(set = 0, binding = 1) readonly buffer B { uint b[]; };
layout(set = 0, binding = 1) readonly buffer B4 { uvec2 b4[]; };
#define ONE(x, at) FLUSHED(widen_one(x[(at) / 2u], at, BFLOAT))
#define FOUR(x, at) FLUSHED(widen(x[(at) / 4u], BFLOAT))
#else
layout(set = 0, binding = 0) readonly buffer A { A_T a[]; };
layout(set = 0, binding = 0) readonly buffer A4 { A_VEC4 a4[]; };
layout(set = 0, binding = 1) readonly buffer B { A_T b[]; };
layout(set = 0, binding = 1) readonly buffer B4 { A_VEC4 b4[]; };
#define ONE(x, at) FROM_A(x[at])
#define FOUR(x, at) FROM_A4(x[(at) / 4u])
#endif
layout(set = 0, binding = 2) writeonly buffer Out { OUT_T result[]; };
layout(set = 0, binding = 2) writeonly buffer Out4 { OUT_VEC4 result4[]; };

void apply(uint element) {
  uint a_at = p.offset[0], b_at = p.offset[1], out_at = p.offset[2], rest = element;
  for (uint i = 4u; i > 5u - p.rank; --i) {
    uint index = rest % p.dim[i];
    rest /= p.dim[i];
    a_at += index * p.a_stride[i];
    b_at += index * p.b_stride[i];
    out_at += index * p.out_stride[i];
  }
  uint outermost = 5u - p.rank;
  a_at += rest * p.a_stride[outermost];
  b_at += rest * p.b_stride[outermost];
  out_at += rest * p.out_stride[outermost];

  if (VEC4) {
    vec4 value = FOUR(a4, a_at);
    if (KIND == HEED_ELEMENTWISE_ADD) ADD_TO(value, FOUR(b4, b_at));
    if (KIND == HEED_ELEMENTWISE_MUL) MULTIPLY_BY(value, FOUR(b4, b_at));
    if (KIND == HEED_ELEMENTWISE_ACTIVATION_BACKWARD) {
      vec4 before = FOUR(b4, b_at);
      [[unroll]] for (uint c = 0u; c < 4u; ++c) MULTIPLY_BY(value[c], activation_derivative(ACTIVATION, before[c]));
    } else {
      MULTIPLY_BY(value, p.scale);
      [[unroll]] for (uint c = 0u; c < 4u; ++c) value[c] = activate(ACTIVATION, value[c]);
    }
    result4[out_at / 4u] = TO_OUT4(value);
    return;
  }
  float value = ONE(a, a_at);
  if (KIND == HEED_ELEMENTWISE_ADD) ADD_TO(value, ONE(b, b_at));
  if (KIND == HEED_ELEMENTWISE_MUL) MULTIPLY_BY(value, ONE(b, b_at));
  if (KIND == HEED_ELEMENTWISE_ACTIVATION_BACKWARD)
    MULTIPLY_BY(value, activation_derivative(ACTIVATION, ONE(b, b_at)));
  else
    value = activate(ACTIVATION, MULTIPLY(value, p.scale));
  result[out_at] = TO_OUT(value);
}

void main() {
  const uint step = VEC4 ? 4u : 1u;
  uint first = workgroup_index() * gl_WorkGroupSize.x * PER_INVOCATION + gl_LocalInvocationID.x;
  for (uint i = 0u; i < PER_INVOCATION; ++i) {
    uint element = (first + i * gl_WorkGroupSize.x) * step;
    if (element < p.elements) apply(element);
  }
}

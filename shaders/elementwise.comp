// out = act(scale * (a op b)) in f32, with broadcast by strides, over floating-point storage.
#version 450
#extension GL_GOOGLE_include_directive : require
#include "shared/storage.glsl"
#include "shared/groups.glsl"
#include "shared/activation.glsl"
#include "shared/elementwise.h"

layout(constant_id = 3) const uint KIND = 0;
layout(constant_id = 4) const uint ACTIVATION = 0;
layout(constant_id = 5) const uint PER_INVOCATION = 4;

layout(set = 0, binding = 0) readonly buffer A { A_T a[]; };
layout(set = 0, binding = 1) readonly buffer B { A_T b[]; };
layout(set = 0, binding = 2) writeonly buffer Out { OUT_T result[]; };

void apply(uint element) {
  uint a_at = p.offset[0], b_at = p.offset[1], out_at = p.offset[2];
  uint rest = element;
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

  float value = float(a[a_at]);
  if (KIND == HEED_ELEMENTWISE_ADD) value += float(b[b_at]);
  if (KIND == HEED_ELEMENTWISE_MUL) value *= float(b[b_at]);
  result[out_at] = TO_OUT(activate(ACTIVATION, value * p.scale));
}

void main() {
  uint first = workgroup_index() * gl_WorkGroupSize.x * PER_INVOCATION + gl_LocalInvocationID.x;
  for (uint i = 0u; i < PER_INVOCATION; ++i) {
    uint element = first + i * gl_WorkGroupSize.x;
    if (element < p.elements) apply(element);
  }
}

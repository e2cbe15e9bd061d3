// Two numbers of each query for the gradients of attention; see shared/attention_backward_rows.h. An invocation computes a row.
#version 450
#extension GL_GOOGLE_include_directive : require
#include "shared/elements.glsl"
#include "shared/groups.glsl"
#include "shared/attention_backward_rows.h"

HEED_OPERAND(0, attended)
HEED_OPERAND(1, gradient)
layout(set = 0, binding = 2) readonly buffer LogSumExp { float log_sum_exp[]; };
layout(set = 0, binding = 3) writeonly buffer Rows { vec2 rows[]; };

void main() {
  uint row = workgroup_index() * gl_WorkGroupSize.x + gl_LocalInvocationID.x;
  if (row >= p.rows) return;
  uint bh = row / p.s_q, i = row % p.s_q;
  uint at = ((bh / p.heads * p.s_q + i) * p.heads + bh % p.heads) * p.d_v;
  float sum = 0.0;
  for (uint d = 0u; d < p.d_v; ++d) sum += one_attended(p.offset[0] + at + d) * one_gradient(p.offset[1] + at + d);
  rows[row] = vec2(log_sum_exp[p.offset[2] + row], sum);
}

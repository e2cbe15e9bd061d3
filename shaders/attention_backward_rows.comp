// What the gradients of attention need of each query; see shared/attention_backward_rows.h. An invocation makes a row.
#version 450
#extension GL_GOOGLE_include_directive : require
#include "shared/storage.glsl"
#include "shared/groups.glsl"
#include "shared/attention_backward_rows.h"

layout(set = 0, binding = 0) readonly buffer Attended { A_T attended[]; };
layout(set = 0, binding = 1) readonly buffer Gradient { A_T gradient[]; };
layout(set = 0, binding = 2) readonly buffer LogSumExp { float log_sum_exp[]; };
layout(set = 0, binding = 3) writeonly buffer Rows { vec2 rows[]; };

void main() {
  uint row = workgroup_index() * gl_WorkGroupSize.x + gl_LocalInvocationID.x;
  if (row >= p.rows) return;
  uint bh = row / p.s_q, i = row % p.s_q;
  uint at = ((bh / p.heads * p.s_q + i) * p.heads + bh % p.heads) * p.d_v;
  float sum = 0.0;
  for (uint d = 0u; d < p.d_v; ++d) sum += FROM_A(attended[p.offset[0] + at + d]) * FROM_A(gradient[p.offset[1] + at + d]);
  rows[row] = vec2(log_sum_exp[p.offset[2] + row], sum);
}

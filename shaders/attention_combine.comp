// The second dispatch of attention over splits of the keys; see shared/attention_combine.h. An invocation computes four elements of a row,
// so that the order of the sums depends only on the number of splits.
#version 450
#extension GL_GOOGLE_include_directive : require
#extension GL_EXT_control_flow_attributes : require
#include "shared/elements.glsl"
#include "shared/groups.glsl"
#include "shared/log_sum_exp.glsl"
#include "shared/attention_combine.h"

layout(set = 0, binding = 0) readonly buffer Partial { float partial[]; };
HEED_RESULT4(1, result)
layout(set = 0, binding = 2) writeonly buffer LogSumExp { float log_sum_exp[]; };

const uint VECS = (D_V + 3u) / 4u;  // vec4s of a row
const uint SPLIT = D_V + 2u;        // elements stored by one split

float largest_of(uint base) { return partial[base + D_V]; }
float total_of(uint base) { return partial[base + D_V + 1u]; }

void main() {
  uint index = workgroup_index() * gl_WorkGroupSize.x + gl_LocalInvocationID.x;
  uint row = index / VECS, d = index % VECS * 4u;
  if (row >= p.rows) return;
  uint first = p.offset[0] + row * p.splits * SPLIT, last = first + p.splits * SPLIT;

  // Splits without a visible key have a total of 0, and no largest logit.
  float largest = LOWEST;
  for (uint at = first; at < last; at += SPLIT)
    if (total_of(at) != 0.0) largest = max(largest, largest_of(at));

  float total = 0.0;
  vec4 sums = vec4(0.0);
  for (uint at = first; at < last; at += SPLIT) {
    float split_total = total_of(at);
    if (split_total == 0.0) continue;
    float weight = exp(largest_of(at) - largest);
    total += weight * split_total;
    [[unroll]] for (uint c = 0u; c < 4u; ++c)
      if (d + c < D_V) sums[c] += weight * partial[at + d + c];
  }

  float factor = total == 0.0 ? 0.0 : 1.0 / total;
  row += p.first_row;
  uint query = row % p.s_q, bh = row / p.s_q;
  uint to = p.offset[1] + ((bh / p.heads * p.s_q + query) * p.heads + bh % p.heads) * D_V + d;
  put_some_result(to, D_V - d, sums * factor);
  if ((FLAGS & HEED_ATTENTION_LOG_SUM_EXP) != 0u && d == 0u)
    log_sum_exp[p.offset[2] + row] = log_sum_exp_of(largest, total);
}

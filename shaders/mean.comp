// Masked mean over one axis; see shared/mean.h. Local x counts elements of out, local y the invocations that sum one of
// them.
#version 450
#extension GL_GOOGLE_include_directive : require
#include "shared/elements.glsl"
#include "shared/rows.glsl"
#include "shared/mean.h"

HEED_OPERAND(0, x)
layout(set = 0, binding = 1) readonly buffer MaskBytes { uint mask[]; };
HEED_RESULT(2, result)

shared uint sh_count[HEED_ROW_INVOCATIONS];

bool is_kept(uint mask_row, uint i) {
  if ((FLAGS & HEED_MEAN_MASK) == 0u) return true;
  uint at = mask_row + i * p.mask_n;
  bool nonzero = ((mask[at / 4u] >> (8u * (at % 4u))) & 0xffu) != 0u;
  return nonzero == ((FLAGS & HEED_MEAN_MASK_KEEP) != 0u);
}

void main() {
  uint element = workgroup_index() * gl_WorkGroupSize.x + gl_LocalInvocationID.x;
  uint n = element < p.elements ? p.n : 0u;
  uvec4 at = UNRAVEL(element, p.dim);
  uint x_row = p.offset[0] + DOT4(at, p.x_stride);
  uint mask_row = p.offset[1] + DOT4(at, p.mask_stride);

  float sum = 0.0;
  uint count = 0u;
  for (uint i = gl_LocalInvocationID.y; i < n; i += gl_WorkGroupSize.y) {
    if (!is_kept(mask_row, i)) continue;
    ADD_ON_GRID(sum, ON_GRID(one_x(x_row + i * p.x_n)));
    ++count;
  }
  uint slot = gl_LocalInvocationID.y * gl_WorkGroupSize.x + gl_LocalInvocationID.x;
  sh_row[slot] = sum;
  sh_count[slot] = count;
  for (uint height = gl_WorkGroupSize.y / 2u; height > 0u; height /= 2u) {
    barrier();
    if (gl_LocalInvocationID.y < height) {
      ADD_ON_GRID(sh_row[slot], sh_row[slot + height * gl_WorkGroupSize.x]);
      sh_count[slot] += sh_count[slot + height * gl_WorkGroupSize.x];
    }
  }
  if (gl_LocalInvocationID.y == 0u && n > 0u) {
    float value = sh_row[slot];
    if ((FLAGS & HEED_MEAN_SUM) == 0u) value = sh_count[slot] == 0u ? 0.0 : DIVIDE_BY_COUNT(value, sh_count[slot]);
    put_result(p.offset[2] + DOT4(at, p.out_stride), value);
  }
}

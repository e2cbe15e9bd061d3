// The second pass of a product whose k was cut: adds the parts' sums in their order, then the epilogue. An invocation
// makes one element. p.k is the number of parts, and p.a_k what lies between them; a tile is one element.
#version 450
#extension GL_GOOGLE_include_directive : require
#include "shared/matmul.glsl"

layout(set = 0, binding = 0) readonly buffer Parts { float part_sums[]; };

void main() {
  uint element = workgroup_index() * gl_WorkGroupSize.x + gl_LocalInvocationID.x;
  if (element >= p.tiles) return;
  Tile at = tile_at(element);
  float sum = part_sums[p.offset[0] + element];
  for (uint part = 1u; part < p.k; ++part) sum += part_sums[p.offset[0] + part * p.a_k + element];
  store_sum(at, at.m, at.n, sum);
}

// The second dispatch of a matmul with split k: adds the sums of the splits in order, then applies the epilogue. An invocation computes one
// element, which is a tile here. p.k is the number of splits, and p.a_k their distance.
#version 450
#extension GL_GOOGLE_include_directive : require
#include "shared/matmul.glsl"

layout(set = 0, binding = 0) readonly buffer Splits { float split_sums[]; };

void main() {
  uint element = workgroup_index() * gl_WorkGroupSize.x + gl_LocalInvocationID.x;
  if (element >= p.tiles) return;
  Tile at = tile_at(element);
  float sum = split_sums[p.offset[0] + element];
  for (uint split = 1u; split < p.k; ++split) sum += split_sums[p.offset[0] + split * p.a_k + element];
  store_sum(at, at.m, at.n, sum);
}

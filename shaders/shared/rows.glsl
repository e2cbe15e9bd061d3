// Rows processed by groups of invocations: local x are the lanes of one row (a power of two), local y numbers rows. Invocations of rows
// past the end do no work, but reach every barrier.
#ifdef SUBGROUPS
#extension GL_KHR_shader_subgroup_basic : require
#extension GL_KHR_shader_subgroup_arithmetic : require
#endif
#include "classify.glsl"
#include "arithmetic.glsl"
#include "groups.glsl"

// Reductions use the two halves in turn: results in one are read before the barriers of the next reduction in the other.
shared float sh_row[2u * HEED_ROW_INVOCATIONS];
uint row_half = HEED_ROW_INVOCATIONS;

uint next_half() { return row_half = HEED_ROW_INVOCATIONS - row_half; }

uint lane() { return gl_LocalInvocationID.x; }
uint lanes() { return gl_WorkGroupSize.x; }
uint row_index() { return workgroup_index() * gl_WorkGroupSize.y + gl_LocalInvocationID.y; }

// Converts a row-major index to four indices; the size of the outermost dimension is not needed.
uvec4 unravel(uint index, uint d1, uint d2, uint d3) {
  uvec4 at;
  at.w = index % d3;
  index /= d3;
  at.z = index % d2;
  index /= d2;
  at.y = index % d1;
  at.x = index / d1;
  return at;
}
#define UNRAVEL(index, dims) unravel(index, dims[1], dims[2], dims[3])
#define DOT4(at, s) (at.x * s[0] + at.y * s[1] + at.z * s[2] + at.w * s[3])

// The maximum; NaN if either is NaN, so that it appears in the result.
float max_with_nan(float a, float b) { return b > a || is_nan(b) ? b : a; }

// Every lane of a row gets the sum (or maximum) over the row's lanes, always combined in the same order.
#ifdef SUBGROUPS
// A row has the whole workgroup: first its subgroups, then their results.
float row_sum(float value) {
  value = subgroupAdd(value);
  uint base = next_half();
  if (subgroupElect()) sh_row[base + gl_SubgroupID] = value;
  barrier();
  float result = sh_row[base];
  for (uint i = 1u; i < gl_NumSubgroups; ++i) result += sh_row[base + i];
  return result;
}

float row_max(float value) {
  // The result of subgroupMax is not defined for NaN.
  bool nan = subgroupMax(is_nan(value) ? 1u : 0u) != 0u;
  value = subgroupMax(is_nan(value) ? -3.402823466e38 : value);
  if (nan) value = uintBitsToFloat(0x7fc00000u);
  uint base = next_half();
  if (subgroupElect()) sh_row[base + gl_SubgroupID] = value;
  barrier();
  float result = sh_row[base];
  for (uint i = 1u; i < gl_NumSubgroups; ++i) result = max_with_nan(result, sh_row[base + i]);
  return result;
}
#else
// With CANON it requires the 128 lanes of select_summing_lanes, and values from FLUSH_FOR_SUM; sum_of_row is for other rows.
float row_sum(float value) {
  uint base = next_half() + gl_LocalInvocationID.y * lanes();
  sh_row[base + lane()] = value;
  for (uint width = lanes() / 2u; width > 0u; width /= 2u) {
    barrier();
    if (lane() < width) ADD_FLUSHED(sh_row[base + lane()], sh_row[base + lane() + width]);
  }
  barrier();
  return sh_row[base];
}

float row_max(float value) {
  uint base = next_half() + gl_LocalInvocationID.y * lanes();
  sh_row[base + lane()] = value;
  for (uint width = lanes() / 2u; width > 0u; width /= 2u) {
    barrier();
    if (lane() < width) sh_row[base + lane()] = max_with_nan(sh_row[base + lane()], sh_row[base + lane() + width]);
  }
  barrier();
  return sh_row[base];
}
#endif

// Rows in groups of four neighbours: lane l of a row has the groups l, l + lanes(), ... If they fit, a lane keeps its groups in registers,
// so that memory is read once.
#extension GL_EXT_control_flow_attributes : require
#include "rows.glsl"
#include "row_groups.h"

vec4 held[HELD > 0u ? HELD : 1u];

// The number of groups of a lane. If they are held in registers it is a specialization constant, so that loops over them are unrolled.
uint group_count(uint n) { return HELD > 0u ? HELD : (n + 4u * lanes() - 1u) / (4u * lanes()); }
uint group_start(uint g) { return (g * lanes() + lane()) * 4u; }
// Whether element c of a group that starts at i, inside the row, is also in the row.
bool in_row(uint i, uint c, uint n) { return VEC4 || i + c < n; }

#ifdef CANON
shared vec4 sh_fours[2u * HEED_ROW_INVOCATIONS];

// The sum of a row, given this lane's sums of every fourth element of its groups. In these kernels a row has 32 lanes, so that 128 sums are
// added pairwise, on a GPU and on the CPU.
float sum_of_row(vec4 value) {
  uint base = next_half() + gl_LocalInvocationID.y * lanes();
  sh_fours[base + lane()] = value;
  for (uint width = lanes() / 2u; width > 0u; width /= 2u) {
    barrier();
    if (lane() < width) sh_fours[base + lane()] = sum_of(sh_fours[base + lane()], sh_fours[base + lane() + width]);
  }
  barrier();
  vec4 four = sh_fours[base];
  return sum_of(sum_of(four.x, four.z), sum_of(four.y, four.w));
}
#else
float sum_of_four(vec4 x) { return (x.x + x.y) + (x.z + x.w); }
#define sum_of_row(value) row_sum(sum_of_four(value))
#endif

// load_x: elements i .. i + 3 of the row of x that starts at `at`, `stride` apart; zeros from n on.
#define HEED_LOAD_GROUP(name)                                             \
  vec4 load_##name(uint at, uint stride, uint i, uint n) {                \
    if (VEC4) return four_##name(at + i);                                 \
    vec4 four = vec4(0.0);                                                \
    at += i * stride;                                                     \
    four.x = one_##name(at);                                              \
    if (i + 1u < n) four.y = one_##name(at + stride);                     \
    if (i + 2u < n) four.z = one_##name(at + 2u * stride);                \
    if (i + 3u < n) four.w = one_##name(at + 3u * stride);                \
    return four;                                                          \
  }
#define HEED_STORE_GROUP(name)                                                                             \
  void store_##name(uint at, uint stride, uint i, uint n, vec4 four) {                                     \
    if (VEC4) {                                                                                            \
      put_four_##name(at + i, four);                                                                       \
      return;                                                                                              \
    }                                                                                                      \
    at += i * stride;                                                                                      \
    put_two_##name(at, at + stride, true, i + 1u < n, four.xy);                                            \
    at += 2u * stride;                                                                                     \
    put_two_##name(at, at + stride, i + 2u < n, i + 3u < n, four.zw);                                      \
  }

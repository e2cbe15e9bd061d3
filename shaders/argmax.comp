// Indices of the largest or smallest elements along an axis, or the largest or smallest element itself; see shared/argmax.h. Local x
// numbers elements of out, local y the invocations that share one of them.
#version 450
#extension GL_GOOGLE_include_directive : require
#include "shared/elements.glsl"
#include "shared/rows.glsl"
#include "shared/argmax.h"

layout(set = 0, binding = 0) readonly buffer Words { uint words[]; };
layout(set = 0, binding = 1) buffer Result { uint result[]; };

const bool SMALLEST = (FLAGS & HEED_ARGMAX_SMALLEST) != 0u, LAST = (FLAGS & HEED_ARGMAX_LAST) != 0u;
const bool VALUE = (FLAGS & HEED_ARGMAX_VALUE) != 0u, WHOLE = (FLAGS & HEED_ARGMAX_WHOLE) != 0u;
const uint NONE = 0xffffffffu;
const int LEAST = -0x80000000, MOST = 0x7fffffff;
// Bits of floats of this type: the sign, infinity, a NaN, and the largest magnitude that a device may flush, up to which values count as 0.
const uint SIGN = A_WIDE ? 0x80000000u : 0x8000u;
const uint INFINITE = A_WIDE ? 0x7f800000u : A_IS_BFLOAT ? 0x7f80u : 0x7c00u;
const uint QUIET_NAN = A_WIDE ? 0x7fc00000u : A_IS_BFLOAT ? 0x7fc0u : 0x7e00u;
const uint SMALL = A_WIDE ? 0x00800000u : A_IS_BFLOAT ? 0x80u : 0u;
shared int sh_key[HEED_ROW_INVOCATIONS];
shared uint sh_index[HEED_ROW_INVOCATIONS];

// An integer that orders like the element, computed from its bits, so that one module gives the same result on every device, also in
// reproducible plans.
int key_of(uint at) {
  uint word = words[at >> A_SHIFT], bits = A_WIDE ? word : word >> (16u * (at & 1u)) & 0xffffu;
  int key = int(word);
  if (!WHOLE) {
    uint magnitude = bits & (SIGN - 1u);
    if (magnitude > INFINITE) return VALUE ? MOST : LEAST;
    key = magnitude <= SMALL ? 0 : (bits & SIGN) != 0u ? -int(magnitude) : int(magnitude);
  }
  return SMALLEST ? ~key : key;
}
uint bits_of(int key) {
  if (!WHOLE && key == MOST) return QUIET_NAN;
  int ordered = SMALLEST ? ~key : key;
  return WHOLE ? uint(ordered) : ordered < 0 ? uint(-ordered) | SIGN : uint(ordered);
}

bool is_before(int key, uint index, int other, uint other_index) {
  return key > other || (key == other && (LAST ? index > other_index : index < other_index));
}

void keep_first(uint slot, uint other) {
  if (sh_index[other] == NONE) return;
  if (sh_index[slot] != NONE && !is_before(sh_key[other], sh_index[other], sh_key[slot], sh_index[slot])) return;
  sh_key[slot] = sh_key[other];
  sh_index[slot] = sh_index[other];
}

void main() {
  uint element = workgroup_index() * gl_WorkGroupSize.x + gl_LocalInvocationID.x;
  uint n = element < p.elements ? p.n : 0u;
  uvec4 at = UNRAVEL(element, p.dim);
  uint x_row = p.offset[0] + DOT4(at, p.x_stride), out_row = p.offset[1] + DOT4(at, p.out_stride);
  uint slot = gl_LocalInvocationID.y * gl_WorkGroupSize.x + gl_LocalInvocationID.x;

  // Each iteration finds the first of the elements that come after the previous one's result.
  int found = LEAST;
  uint found_index = NONE;
  if (p.begin > 0u && n > 0u) {
    found_index = result[out_row + (p.begin - 1u) * p.out_n];
    found = key_of(x_row + found_index * p.x_n);
  }
  for (uint r = p.begin; r < p.end; ++r) {
    int best = LEAST;
    uint best_index = NONE;
    for (uint i = gl_LocalInvocationID.y; i < n; i += gl_WorkGroupSize.y) {
      int key = key_of(x_row + i * p.x_n);
      if (found_index != NONE && !is_before(found, found_index, key, i)) continue;
      if (best_index != NONE && !is_before(key, i, best, best_index)) continue;
      best = key;
      best_index = i;
    }
    sh_key[slot] = best;
    sh_index[slot] = best_index;
    for (uint height = gl_WorkGroupSize.y / 2u; height > 0u; height /= 2u) {
      barrier();
      if (gl_LocalInvocationID.y < height) keep_first(slot, slot + height * gl_WorkGroupSize.x);
    }
    barrier();
    found = sh_key[gl_LocalInvocationID.x];
    found_index = sh_index[gl_LocalInvocationID.x];
    barrier();
    if (gl_LocalInvocationID.y != 0u || n == 0u) continue;
    uint made = VALUE ? bits_of(found) : found_index, to = out_row + r * p.out_n;
    if (VALUE && !A_WIDE)
      HEED_PUT_TWO_BYTES(result, to, made)
    else
      result[to] = made;
  }
}

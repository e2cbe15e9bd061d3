// Rotary embedding (Su et al. 2021, arXiv:2104.09864); see shared/rotary.h.
#version 450
#extension GL_GOOGLE_include_directive : require
#include "shared/storage.glsl"
#include "shared/rows.glsl"
#include "shared/rotary.h"

layout(set = 0, binding = 0) readonly buffer X { A_T x[]; };
layout(set = 0, binding = 1) readonly buffer Positions { int positions[]; };
layout(set = 0, binding = 2) readonly buffer Table { uint table[]; };  // turns per position, a high and a low word
layout(set = 0, binding = 3) writeonly buffer Out { OUT_T result[]; };

// The high word of position * turns modulo 2^64: the angle as a fraction of 2^32 turns.
uint angle_of(int position, uint pair) {
  uint high = table[p.offset[2] + 2u * pair], low = table[p.offset[2] + 2u * pair + 1u];
  uint carry, unused;
  umulExtended(uint(position), low, carry, unused);
  return uint(position) * high + carry - (position < 0 ? low : 0u);
}

// Cosine and sine. Those of drivers may be off by 2^-11; these polynomials, over an eighth of a turn to both sides of
// the nearest quarter, are off by at most 2^-23.
vec2 turn(uint angle) {
  uint quarter = (angle + 0x20000000u) >> 30;
  float a = float(int(angle - (quarter << 30))) * (6.28318530718 / 4294967296.0), z = a * a;
  float s = a + a * z * (-0.166666552 + z * (0.008332178 + z * -0.000195172979));
  float c = 1.0 - 0.5 * z + z * z * (0.0416666456 + z * (-0.00138873677 + z * 2.44384501e-05));
  vec2 result = (quarter & 1u) == 0u ? vec2(c, s) : vec2(-s, c);
  return (quarter & 2u) == 0u ? result : -result;
}

void main() {
  uint row = row_index();
  if (row >= p.rows) return;
  uvec4 at = UNRAVEL(row, p.dim);
  uint from = p.offset[0] + DOT4(at, p.x_stride), to = p.offset[3] + DOT4(at, p.out_stride);
  uint place = DOT4(at, p.position_stride);
  int position = int(p.first + place);
  if (POSITIONS) position = positions[p.offset[1] + place];
  for (uint i = lane(); i < p.pairs; i += lanes()) {
    uint first = HALVES ? i : 2u * i, second = HALVES ? i + p.pairs : 2u * i + 1u;
    vec2 cos_sin = turn(angle_of(position, i));
    float a = FROM_A(x[from + first * p.x_stride[4]]), b = FROM_A(x[from + second * p.x_stride[4]]);
    result[to + first * p.out_stride[4]] = TO_OUT(a * cos_sin.x - b * cos_sin.y);
    result[to + second * p.out_stride[4]] = TO_OUT(b * cos_sin.x + a * cos_sin.y);
  }
  for (uint i = 2u * p.pairs + lane(); i < p.n; i += lanes())
    result[to + i * p.out_stride[4]] = TO_OUT(FROM_A(x[from + i * p.x_stride[4]]));
}

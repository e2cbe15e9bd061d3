// Rotary embedding (Su et al. 2021, arXiv:2104.09864); see shared/rotary.h.
#version 450
#extension GL_GOOGLE_include_directive : require
#include "shared/storage.glsl"
#include "shared/rows.glsl"
#include "shared/rotary.h"
#include "shared/turn.glsl"

layout(set = 0, binding = 0) readonly buffer X { A_T x[]; };
layout(set = 0, binding = 1) readonly buffer Positions { int positions[]; };
layout(set = 0, binding = 2) readonly buffer Table { uint table[]; };  // turns per position, a high and a low word
layout(set = 0, binding = 3) writeonly buffer Out { OUT_T result[]; };
layout(set = 0, binding = 4) buffer Faults { uint faults; };

// A pair's turns per position, as a fraction of 2^64: the high word first.
uvec2 turns_of(uint pair) { return uvec2(table[p.offset[2] + 2u * pair], table[p.offset[2] + 2u * pair + 1u]); }

void main() {
  uint row = row_index();
  if (row >= p.rows) return;
  uvec4 at = UNRAVEL(row, p.dim);
  uint from = p.offset[0] + DOT4(at, p.x_stride), to = p.offset[3] + DOT4(at, p.out_stride);
  uint place = DOT4(at, p.position_stride);
  int position = int(p.first + place);
  if (POSITIONS) position = positions[p.offset[1] + place];
  if (PLACED) {
    if (position < 0) return;
    if (uint(position) >= p.room) {
      if (lane() == 0u) atomicOr(faults, 1u);
      return;
    }
    to += uint(position) * p.apart;
  }
  for (uint i = lane(); i < p.pairs; i += lanes()) {
    uint first = HALVES ? i : 2u * i, second = HALVES ? i + p.pairs : 2u * i + 1u;
    vec2 cos_sin = turn(angle_of(position, turns_of(i)));
    float a = FROM_A(x[from + first * p.x_stride[4]]), b = FROM_A(x[from + second * p.x_stride[4]]);
    result[to + first * p.out_stride[4]] = TO_OUT(SUBTRACT(MULTIPLY(a, cos_sin.x), MULTIPLY(b, cos_sin.y)));
    result[to + second * p.out_stride[4]] = TO_OUT(ADD(MULTIPLY(b, cos_sin.x), MULTIPLY(a, cos_sin.y)));
  }
  for (uint i = 2u * p.pairs + lane(); i < p.n; i += lanes())
    result[to + i * p.out_stride[4]] = TO_OUT(FROM_A(x[from + i * p.x_stride[4]]));
}

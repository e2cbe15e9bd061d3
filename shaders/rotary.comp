// Rotary embedding (Su et al. 2021, arXiv:2104.09864); see shared/rotary.h.
#version 450
#extension GL_GOOGLE_include_directive : require
#include "shared/elements.glsl"
#include "shared/rows.glsl"
#include "shared/rotary.h"
#include "shared/turn.glsl"

HEED_OPERAND(0, x)
layout(set = 0, binding = 1) readonly buffer Positions { int positions[]; };
layout(set = 0, binding = 2) readonly buffer Table { uint table[]; };  // turns per position, a high and a low word
HEED_OPERAND(1, cosine)
HEED_OPERAND(2, sine)
HEED_RESULT(3, result)
layout(set = 0, binding = 4) buffer Faults { uint faults; };

// A pair's turns per position, as a fraction of 2^64: the high word first.
uvec2 turns_of(uint pair) { return uvec2(table[p.offset[2] + 2u * pair], table[p.offset[2] + 2u * pair + 1u]); }

// Pair i of the row that starts at `from`, rotated. Its position, or the offset of its cosines, is `place`.
vec2 turned(uint from, uint i, int position, uint place) {
  uint first = HALVES ? i : 2u * i, second = HALVES ? i + p.pairs : 2u * i + 1u;
  float a = one_x(from + first * p.x_stride[4]), b = one_x(from + second * p.x_stride[4]);
  vec2 own, other;  // cosine and sine of the pair's elements
  if (TABLES) {
    uint at = place + i * p.each;
    own = vec2(one_cosine(p.offset[1] + at), one_sine(p.offset[2] + at));
    other = vec2(one_cosine(p.offset[1] + at + p.other), one_sine(p.offset[2] + at + p.other));
  } else {
    own = turn(angle_of(position, turns_of(i)));
    other = own;
  }
  return vec2(SUBTRACT(MULTIPLY(a, own.x), MULTIPLY(b, own.y)), ADD(MULTIPLY(b, other.x), MULTIPLY(a, other.y)));
}

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
  // If the elements of a pair are adjacent, the pair is a word by itself.
  const uint PAIRS_EACH = HALVES ? EACH : 1u;
  for (uint i = lane() * PAIRS_EACH; i < p.pairs; i += lanes() * PAIRS_EACH) {
    bool both = PAIRS_EACH == 2u && i + 1u < p.pairs;
    vec2 pair = turned(from, i, position, place), next = vec2(0.0);
    if (both) next = turned(from, i + 1u, position, place);
    uint stride = p.out_stride[4];
    if (HALVES) {
      put_two_result(to + i * stride, to + (i + 1u) * stride, true, both, vec2(pair.x, next.x));
      put_two_result(to + (i + p.pairs) * stride, to + (i + 1u + p.pairs) * stride, true, both, vec2(pair.y, next.y));
    } else {
      put_two_result(to + 2u * i * stride, to + (2u * i + 1u) * stride, true, true, pair);
    }
  }
  for (uint i = 2u * p.pairs + lane() * EACH; i < p.n; i += lanes() * EACH) {
    bool second = EACH == 2u && i + 1u < p.n;
    vec2 values = vec2(one_x(from + i * p.x_stride[4]), 0.0);
    if (second) values.y = one_x(from + (i + 1u) * p.x_stride[4]);
    put_two_result(to + i * p.out_stride[4], to + (i + 1u) * p.out_stride[4], true, second, values);
  }
}

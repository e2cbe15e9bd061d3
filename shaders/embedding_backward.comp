// Sums of rows by their ids; see shared/embedding_backward.h. Each row of the table checks all ids, so that sums follow the order of ids
// and no two invocations write the same element. An invocation computes one element, or two that share a word.
#version 450
#extension GL_GOOGLE_include_directive : require
#include "shared/elements.glsl"
#include "shared/rows.glsl"
#include "shared/embedding_backward.h"

HEED_OPERAND(0, rows)
layout(set = 0, binding = 1) readonly buffer Ids { int ids[]; };
HEED_RESULT(2, result)
HEED_OPERAND_OF(2, before, OUT_WIDE, (OUT_WIDE ? 0u : 1u), OUT_IS_BFLOAT)

void main() {
  uint index = row_index(), row = index / p.blocks;
  uint i = (index % p.blocks * lanes() + lane()) * EACH;
  if (row >= p.rows || i >= p.n) return;
  uint outer = row / p.vocabulary, id = row % p.vocabulary;
  uint first = outer * p.count;
  uint to = p.offset[2] + row * p.n + i;
  bool second = EACH == 2u && i + 1u < p.n;
  vec2 sums = vec2(0.0);
  if (p.begin > 0u) {
    sums.x = one_before(to);
    if (second) sums.y = one_before(to + 1u);
  }
  for (uint at = first + p.begin; at < first + p.end; ++at) {
    if (uint(ids[p.offset[1] + at]) != id) continue;
    uint from = p.offset[0] + at * p.n + i;
    ADD_TO(sums.x, one_rows(from));
    if (second) ADD_TO(sums.y, one_rows(from + 1u));
  }
  put_two_result(to, to + 1u, true, second, sums);
}

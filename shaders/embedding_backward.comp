// Rows added up by their ids; see shared/embedding_backward.h. Each row of the table looks at all ids, so that the order of sums
// is that of the ids and no two invocations write the same element.
#version 450
#extension GL_GOOGLE_include_directive : require
#include "shared/storage.glsl"
#include "shared/rows.glsl"
#include "shared/embedding_backward.h"

layout(set = 0, binding = 0) readonly buffer Rows { A_T rows[]; };
layout(set = 0, binding = 1) readonly buffer Ids { int ids[]; };
layout(set = 0, binding = 2) writeonly buffer Out { OUT_T result[]; };

void main() {
  uint row = row_index();
  if (row >= p.rows) return;
  uint outer = row / p.vocabulary, id = row % p.vocabulary;
  uint first = outer * p.count;
  for (uint i = lane(); i < p.n; i += lanes()) {
    float sum = 0.0;
    for (uint at = first; at < first + p.count; ++at)
      if (uint(ids[p.offset[1] + at]) == id) ADD_TO(sum, FROM_A(rows[p.offset[0] + at * p.n + i]));
    result[p.offset[2] + row * p.n + i] = TO_OUT(sum);
  }
}

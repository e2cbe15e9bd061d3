// Rows of a table by id; see shared/embedding.h.
#version 450
#extension GL_GOOGLE_include_directive : require
#include "shared/storage.glsl"
#include "shared/rows.glsl"
#include "shared/embedding.h"

#ifdef A_NARROW
layout(set = 0, binding = 0) readonly buffer Table { uint table[]; };
float table_at(uint at) { return widen_one(table[at / 2u], at, BFLOAT); }
#else
layout(set = 0, binding = 0) readonly buffer Table { A_T table[]; };
float table_at(uint at) { return FROM_A(table[at]); }
#endif
layout(set = 0, binding = 1) readonly buffer Ids { int ids[]; };
layout(set = 0, binding = 2) writeonly buffer Out { OUT_T result[]; };
layout(set = 0, binding = 3) buffer Faults { uint faults; };

void main() {
  uint row = row_index();
  if (row >= p.rows) return;
  uvec4 at = UNRAVEL(row, p.dim);
  int id = ids[p.offset[1] + DOT4(at, p.ids_stride)];
  bool known = id >= 0 && uint(id) < p.vocabulary;
  if (!known && lane() == 0u) atomicOr(faults, 1u);
  uint from = p.offset[0] + (known ? uint(id) : 0u) * p.table_row;
  uint to = p.offset[2] + DOT4(at, p.out_stride);
  for (uint i = lane(); i < p.n; i += lanes()) {
    float value = 0.0;
    if (known) value = table_at(from + i * p.table_column);
    result[to + i * p.out_stride[4]] = TO_OUT(value);
  }
}

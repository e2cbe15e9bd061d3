// Rows of a table by id; see shared/embedding.h.
#version 450
#extension GL_GOOGLE_include_directive : require
#extension GL_EXT_control_flow_attributes : require
#include "shared/storage.glsl"
#include "shared/rows.glsl"
#include "shared/embedding.h"

#ifdef A_BLOCKS
layout(set = 0, binding = 0) readonly buffer Table { uint table[]; };
layout(set = 0, binding = 0) readonly buffer Table16 { uvec4 table16[]; };
#define HEED_BLOCK_WORD(at) table[at]
#define HEED_BLOCK_WORDS(at) table16[(at) / 4u]
#include "shared/blocks.glsl"
// Elements at .. at + 3 of the table.
vec4 four_at(uint at) {
  uint block = at / block_elements(BLOCK_TYPE), within = at % block_elements(BLOCK_TYPE);
  Words words = read_four(BLOCK_TYPE, Blocks(0u, p.table_column), block, within);
  return widen_read_four(BLOCK_TYPE, words, block, within);
}
#elif defined(A_NARROW)
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
#ifdef A_BLOCKS
  for (uint i = lane() * 4u; i < p.n; i += lanes() * 4u) {
    vec4 values = vec4(0.0);
    if (known) values = four_at(from + i);
    [[unroll]] for (uint c = 0u; c < 4u; ++c) result[to + (i + c) * p.out_stride[4]] = TO_OUT(values[c]);
  }
#else
  for (uint i = lane(); i < p.n; i += lanes()) {
    float value = 0.0;
    if (known) value = table_at(from + i * p.table_column);
    result[to + i * p.out_stride[4]] = TO_OUT(value);
  }
#endif
}

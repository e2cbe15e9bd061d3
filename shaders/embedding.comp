// Rows of a table by id; see shared/embedding.h.
#version 450
#extension GL_GOOGLE_include_directive : require
#include "shared/elements.glsl"
#include "shared/rows.glsl"
#include "shared/embedding.h"

#ifdef BLOCKS
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
#else
HEED_OPERAND(0, table)
#endif
layout(set = 0, binding = 1) readonly buffer Ids { int ids[]; };
HEED_RESULT(2, result)
layout(set = 0, binding = 3) buffer Faults { uint faults; };

void main() {
  uint row = row_index();
  if (row >= p.rows) return;
  uvec4 at = UNRAVEL(row, p.dim);
  int id = ids[p.offset[1] + DOT4(at, p.ids_stride)];
  bool known = id >= 0 && uint(id) < p.total;
  uint place = uint(id) - p.first;
  if (known ? place >= p.vocabulary : p.first > 0u) return;
  if (!known && lane() == 0u) atomicOr(faults, 1u);
  uint from = p.offset[0] + (known ? place : 0u) * p.table_row;
  uint to = p.offset[2] + DOT4(at, p.out_stride);
#ifdef BLOCKS
  for (uint i = lane() * 4u; i < p.n; i += lanes() * 4u) {
    vec4 values = vec4(0.0);
    if (known) values = four_at(from + i);
    uint at = to + i * p.out_stride[4], last = at + 2u * p.out_stride[4];
    put_two_result(at, at + p.out_stride[4], true, true, values.xy);
    put_two_result(last, last + p.out_stride[4], true, true, values.zw);
  }
#else
  for (uint i = lane() * EACH; i < p.n; i += lanes() * EACH) {
    bool second = EACH == 2u && i + 1u < p.n;
    vec2 values = vec2(0.0);
    if (known) values.x = one_table(from + i * p.table_column);
    if (known && second) values.y = one_table(from + (i + 1u) * p.table_column);
    uint at = to + i * p.out_stride[4];
    put_two_result(at, at + p.out_stride[4], true, second, values);
  }
#endif
}

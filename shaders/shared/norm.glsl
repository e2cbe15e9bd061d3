// Shared by layernorm and rmsnorm: bindings, and reading a row in groups of four with its residual added.
#include "elements.glsl"
#include "row_groups.glsl"
#include "norm.h"

HEED_OPERAND4(0, x)
HEED_OPERAND4(1, gamma)
HEED_OPERAND4(2, beta)
HEED_OPERAND4(3, residual)
HEED_RESULT4(4, result)

HEED_LOAD_GROUP(x)
HEED_LOAD_GROUP(gamma)
HEED_LOAD_GROUP(beta)
HEED_LOAD_GROUP(residual)
HEED_STORE_GROUP(result)

struct Row {
  uint x, residual, out_at;  // offsets of the row in each operand
  uint n;                    // 0 past the last row
};

Row this_row() {
  Row row;
  uint index = row_index();
  row.n = index < p.rows ? p.n : 0u;
  uvec4 at = UNRAVEL(index, p.dim);
  row.x = p.offset[0] + DOT4(at, p.x_stride);
  row.residual = p.offset[3] + DOT4(at, p.residual_stride);
  row.out_at = p.offset[4] + DOT4(at, p.out_stride);
  return row;
}

vec4 read_group(Row row, uint i) {
  vec4 values = load_x(row.x, p.x_stride[4], i, row.n);
  if ((FLAGS & HEED_NORM_RESIDUAL) != 0u) ADD_TO(values, load_residual(row.residual, p.residual_stride[4], i, row.n));
  return values;
}

// Group g, which starts at i. hold_row must have been called.
vec4 group_of(Row row, uint g, uint i) { return HELD > 0u ? held[g] : read_group(row, i); }

void hold_row(Row row) {
  if (HELD == 0u) return;
  [[unroll]] for (uint g = 0u; g < HELD; ++g)
    if (group_start(g) < row.n) held[g] = read_group(row, group_start(g));
}

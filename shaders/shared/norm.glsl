// Shared by layernorm and rmsnorm: bindings, and the row in groups of four with its residual added.
#include "storage.glsl"
#include "row_groups.glsl"
#include "norm.h"

layout(set = 0, binding = 0) readonly buffer X { A_T x[]; };
layout(set = 0, binding = 0) readonly buffer X4 { A_VEC4 x4[]; };
layout(set = 0, binding = 1) readonly buffer Gamma { A_T gamma[]; };
layout(set = 0, binding = 1) readonly buffer Gamma4 { A_VEC4 gamma4[]; };
layout(set = 0, binding = 2) readonly buffer Beta { A_T beta[]; };
layout(set = 0, binding = 2) readonly buffer Beta4 { A_VEC4 beta4[]; };
layout(set = 0, binding = 3) readonly buffer Residual { A_T residual[]; };
layout(set = 0, binding = 3) readonly buffer Residual4 { A_VEC4 residual4[]; };
layout(set = 0, binding = 4) writeonly buffer Out { OUT_T result[]; };
layout(set = 0, binding = 4) writeonly buffer Out4 { OUT_VEC4 result4[]; };

HEED_LOAD_GROUP(load_x, x, x4)
HEED_LOAD_GROUP(load_gamma, gamma, gamma4)
HEED_LOAD_GROUP(load_beta, beta, beta4)
HEED_LOAD_GROUP(load_residual, residual, residual4)
HEED_STORE_GROUP(store_result, result, result4)

struct Row {
  uint x, residual, out_at;  // where the row starts in each operand
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

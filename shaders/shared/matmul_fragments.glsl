// A subgroup sums WM x WN elements of a tile in fragments of MS x NS; store_fragments applies the epilogue and stores them. Before
// including this, a kernel defines SUMS, the shared memory through which fragments pass; FINAL(sum), the element for a sum; and
// FOUR_SUMS(from), four neighbouring elements, of which `from` is the first vector.
#include "subgroup_sync.glsl"

const uint FM = WM / MS;  // fragments of one subgroup
const uint FN = WN / NS;

coopmat<float, gl_ScopeSubgroup, MS, NS, gl_MatrixUseAccumulator> sums[FM * FN];

// Four neighbours of the epilogue's operands and of results, if their offsets are multiples of four.
layout(set = 0, binding = 4) writeonly buffer PartialFours { vec4 partial_fours[]; };
#ifdef TWO_BYTES
layout(set = 0, binding = 2) readonly buffer BiasFours { uvec2 bias_fours[]; };
layout(set = 0, binding = 3) readonly buffer ResidualFours { uvec2 residual_fours[]; };
layout(set = 0, binding = 4) writeonly buffer OutFours { uvec2 result_fours[]; };
layout(set = 0, binding = 5) writeonly buffer KeptFours { uvec2 kept_fours[]; };
#define FROM_FOUR(pairs) widen(pairs, A_IS_BFLOAT)
#define TO_FOUR(values) uvec2(narrowed(values.xy), narrowed(values.zw))
#else
layout(set = 0, binding = 2) readonly buffer BiasFours { vec4 bias_fours[]; };
layout(set = 0, binding = 3) readonly buffer ResidualFours { vec4 residual_fours[]; };
layout(set = 0, binding = 4) writeonly buffer OutFours { vec4 result_fours[]; };
layout(set = 0, binding = 5) writeonly buffer KeptFours { vec4 kept_fours[]; };
#define FROM_FOUR(values) values
#define TO_FOUR(values) values
#endif

// Whether results and the epilogue's operands can be accessed four elements at once. Excluded are dropout, which draws a number for each
// element, and slopes, which are rare.
bool fours_fit(Tile t) {
  if (has(HEED_MATMUL_DROPOUT) || has(HEED_MATMUL_SLOPES)) return false;
  uint all = p.n | p.out_m | t.out_at;
  if (has(HEED_MATMUL_BIAS)) all |= p.offset[2] | (p.bias_n - 1u);
  if (has(HEED_MATMUL_RESIDUAL) || has(HEED_MATMUL_KEEPS))
    all |= t.residual | p.offset[3] | p.offset[5] | p.residual_m;
  return (all & 3u) == 0u;
}

// store_sum for the columns from n to n + 3, without dropout and slopes.
void store_four(Tile t, uint m, uint n, vec4 totals) {
  uint at = (t.out_at + m * p.out_m + n) / 4u, other_at = t.residual + m * p.residual_m + n;
  if (p.partial != 0u) {
    partial_fours[at] = totals;
    return;
  }
  vec4 biases = vec4(0.0), others = vec4(0.0);
  if (has(HEED_MATMUL_BIAS)) biases = FROM_FOUR(bias_fours[(p.offset[2] + n) / 4u]);
  if (has(HEED_MATMUL_RESIDUAL)) others = FROM_FOUR(residual_fours[other_at / 4u]);
  vec4 values = totals * p.scale + biases;
  if (has(HEED_MATMUL_KEEPS)) kept_fours[(other_at - p.offset[3] + p.offset[5]) / 4u] = TO_FOUR(values);
  [[unroll]] for (uint c = 0u; c < 4u; ++c) values[c] = activate(ACTIVATION, values[c]);
  if (has(HEED_MATMUL_RESIDUAL)) values = has(HEED_MATMUL_GATED) ? values * others : values + others;
  result_fours[at] = TO_FOUR(values);
}

void store_fragments(Tile tile, uint wave_m, uint wave_n) {
  barrier();  // before the last block's memory is reused
  uint mine = gl_SubgroupID * MS * SUM_ROW;
  bool fours = fours_fit(tile);
  // The inner loop selects a fragment by constant indices: an array that is indexed at run time would not stay in registers.
  for (uint f = 0u; f < FM * FN; ++f) {
    [[unroll]] for (uint i = 0u; i < FM * FN; ++i)
      if (i == f) coopMatStore(sums[i], SUMS, mine, SUM_ROW, gl_CooperativeMatrixLayoutRowMajor);
    subgroup_sync();
    uint first_m = tile.m + wave_m + f / FN * MS, first_n = tile.n + wave_n + f % FN * NS;
    uint each = fours ? 4u : 1u;
    for (uint e = gl_SubgroupInvocationID * each; e < MS * NS; e += gl_SubgroupSize * each) {
      uint row = spread(e / NS), column = e % NS;
      uint m = first_m + row, n = first_n + column, from = mine + row * SUM_ROW + column / SUM_WIDTH;
      if (m >= p.m || n >= p.n) continue;
      if (fours) store_four(tile, m, n, FOUR_SUMS(from));
      else store_sum(tile, m, n, FINAL(uintBitsToFloat(SUMS[from][column % SUM_WIDTH])));
    }
    subgroup_sync();
  }
}

// A subgroup sums up WM x WN elements of a tile here, in fragments of MS x NS, and store_fragments finishes and stores them. A kernel
// defines SUMS before, the shared memory that fragments take on their way, and FINAL(sum), what an element is made of.
#include "subgroup_sync.glsl"

const uint FM = WM / MS;  // fragments of one subgroup
const uint FN = WN / NS;

coopmat<float, gl_ScopeSubgroup, MS, NS, gl_MatrixUseAccumulator> sums[FM * FN];

void store_fragments(Tile tile, uint wave_m, uint wave_n) {
  barrier();  // for the place of the last block
  uint mine = gl_SubgroupID * MS * SUM_ROW;
  // The inner loop picks a fragment by constant indices: sums that are indexed at run time would leave the registers.
  for (uint f = 0u; f < FM * FN; ++f) {
    [[unroll]] for (uint i = 0u; i < FM * FN; ++i)
      if (i == f) coopMatStore(sums[i], SUMS, mine, SUM_ROW, gl_CooperativeMatrixLayoutRowMajor);
    subgroup_sync();
    for (uint e = gl_SubgroupInvocationID; e < MS * NS; e += gl_SubgroupSize) {
      uint row = spread(e / NS), column = e % NS;
      uint m = tile.m + wave_m + f / FN * MS + row;
      uint n = tile.n + wave_n + f % FN * NS + column;
      float sum = uintBitsToFloat(SUMS[mine + row * SUM_ROW + column / SUM_WIDTH][column % SUM_WIDTH]);
      if (m < p.m && n < p.n) store_sum(tile, m, n, FINAL(sum));
    }
    subgroup_sync();
  }
}

// An invocation of a kernel with tiles in shared memory sums TM x TN elements of a tile; store_sums applies the epilogue and stores them.
float sums[TM * TN];

// Rows and columns of one invocation are BM/TM and BN/TN apart, so that neighbouring invocations access neighbouring elements.
const uint ROWS_APART = BM / TM;
const uint COLUMNS_APART = BN / TN;

// The epilogue's operands are read for a whole row at once: in a branch for each element, every read would be waited for. Columns past the
// end repeat the last one, and are not stored.
void store_sums(Tile tile, uint row, uint column) {
  uint columns[TN];
  float biases[TN];
  [[unroll]] for (uint j = 0u; j < TN; ++j) {
    columns[j] = tile.n + column + j * COLUMNS_APART;
    biases[j] = bias_at(min(columns[j], p.n - 1u));
  }
  for (uint i = 0u; i < TM; ++i) {
    uint m = tile.m + row + i * ROWS_APART;
    if (m >= p.m) break;
    // Selects sums by constant indices: an array that is indexed at run time would not stay in registers, also in the loops above.
    float row_sums[TN], others[TN];
    if (p.partial == 0u)
      [[unroll]] for (uint j = 0u; j < TN; ++j)
        others[j] = residual_at(tile.residual + m * p.residual_m + min(columns[j], p.n - 1u));
    [[unroll]] for (uint j = 0u; j < TN; ++j) {
      row_sums[j] = sums[j];
      [[unroll]] for (uint r = 1u; r < TM; ++r)
        if (r == i) row_sums[j] = sums[r * TN + j];
    }
    [[unroll]] for (uint j = 0u; j < TN; ++j)
      if (columns[j] < p.n) store_finished(tile, m, columns[j], row_sums[j], biases[j], others[j]);
  }
}

// One register tile. The including file defines HEED_TILE_NAME, HEED_TILE_TARGET (function attributes),
// HEED_TILE_LANES (floats per vector), HEED_TILE_ROWS and HEED_TILE_VECTORS (vectors per row of the tile).
//
// A macro file and not a template: compilers lower vector types before inlining, with the instruction set of the
// function they are written in.

HEED_TILE_TARGET void HEED_TILE_NAME(int64_t k, const float* a, const float* b, float* c, int64_t c_pitch) {
  typedef float Vector __attribute__((vector_size(HEED_TILE_LANES * sizeof(float)), may_alias));
  Vector sum[HEED_TILE_ROWS][HEED_TILE_VECTORS];
  HEED_UNROLL for (int i = 0; i < HEED_TILE_ROWS; ++i)
    HEED_UNROLL for (int j = 0; j < HEED_TILE_VECTORS; ++j)
      sum[i][j] = *reinterpret_cast<const Vector*>(c + i * c_pitch + j * HEED_TILE_LANES);
  for (int64_t p = 0; p < k; ++p) {
    Vector right[HEED_TILE_VECTORS];
    HEED_UNROLL for (int j = 0; j < HEED_TILE_VECTORS; ++j)
      right[j] = *reinterpret_cast<const Vector*>(b + j * HEED_TILE_LANES);
    HEED_UNROLL for (int i = 0; i < HEED_TILE_ROWS; ++i)
      HEED_UNROLL for (int j = 0; j < HEED_TILE_VECTORS; ++j) sum[i][j] += a[i] * right[j];
    a += HEED_TILE_ROWS;
    b += HEED_TILE_VECTORS * HEED_TILE_LANES;
  }
  HEED_UNROLL for (int i = 0; i < HEED_TILE_ROWS; ++i)
    HEED_UNROLL for (int j = 0; j < HEED_TILE_VECTORS; ++j)
      *reinterpret_cast<Vector*>(c + i * c_pitch + j * HEED_TILE_LANES) = sum[i][j];
}

#undef HEED_TILE_NAME
#undef HEED_TILE_TARGET
#undef HEED_TILE_LANES
#undef HEED_TILE_ROWS
#undef HEED_TILE_VECTORS

#include "cpu/matmul_tile.hpp"

#include <array>

// Vector types and per-function instruction sets are extensions that GCC and Clang share.
#if defined(__GNUC__)
#define HEED_HAS_VECTORS 1
#else
#define HEED_HAS_VECTORS 0
#endif
#if HEED_HAS_VECTORS && (defined(__x86_64__) || defined(__i386__))
#define HEED_X86_TILES 1
#else
#define HEED_X86_TILES 0
#endif
#if defined(__clang__)
#define HEED_UNROLL _Pragma("clang loop unroll(full)")
#else
#define HEED_UNROLL _Pragma("GCC unroll 16")
#endif

namespace heed::cpu {
namespace {

// Tiles leave a few registers for the loads: 12 x 2 + 2 + 1 of AVX-512's 32, 6 x 2 + 2 + 1 of AVX2's 16.
#if HEED_X86_TILES
#define HEED_TILE_NAME tile_avx512
#define HEED_TILE_TARGET __attribute__((target("avx512f")))
#define HEED_TILE_LANES 16
#define HEED_TILE_ROWS 12
#define HEED_TILE_VECTORS 2
#include "cpu/matmul_tile.inl"

#define HEED_TILE_NAME tile_avx2
#define HEED_TILE_TARGET __attribute__((target("avx2,fma")))
#define HEED_TILE_LANES 8
#define HEED_TILE_ROWS 6
#define HEED_TILE_VECTORS 2
#include "cpu/matmul_tile.inl"
#endif

#if HEED_HAS_VECTORS
#define HEED_TILE_NAME tile_portable
#define HEED_TILE_TARGET
#define HEED_TILE_LANES 4
#define HEED_TILE_ROWS 4
#define HEED_TILE_VECTORS 2
#include "cpu/matmul_tile.inl"
#else
void tile_portable(int64_t k, const float* a, const float* b, float* c, int64_t c_pitch) {
  for (int64_t p = 0; p < k; ++p, a += 4, b += 8)
    for (int i = 0; i < 4; ++i)
      for (int j = 0; j < 8; ++j) c[i * c_pitch + j] += a[i] * b[j];
}
#endif

}  // namespace

std::span<const MatmulTile> matmul_tiles() {
#if HEED_X86_TILES
  static const std::array kTiles = {
      MatmulTile{"avx512", 12, 32, __builtin_cpu_supports("avx512f") != 0, tile_avx512},
      MatmulTile{"avx2+fma", 6, 16, __builtin_cpu_supports("avx2") != 0 && __builtin_cpu_supports("fma") != 0,
                 tile_avx2},
      MatmulTile{"portable", 4, 8, true, tile_portable},
  };
#else
  static const std::array kTiles = {MatmulTile{"portable", 4, 8, true, tile_portable}};
#endif
  return kTiles;
}

const MatmulTile& best_matmul_tile() {
  for (const MatmulTile& tile : matmul_tiles())
    if (tile.supported) return tile;
  return matmul_tiles().back();
}

}  // namespace heed::cpu

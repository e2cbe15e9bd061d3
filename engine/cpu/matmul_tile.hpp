// The innermost loops of matmul, one variant per instruction set, chosen at run time.
#pragma once

#include <cstdint>
#include <span>

namespace heed::cpu {

// c[rows x cols] += a b, from packed panels: a is [k][rows], b is [k][cols], c has `c_pitch` floats from row
// to row. b and c start on 64-byte boundaries, and c_pitch is a multiple of 16. Every element is summed in
// the order of k.
struct MatmulTile {
  const char* name;  // "avx2+fma"
  int64_t rows;
  int64_t cols;
  bool supported;  // by the processor this runs on
  void (*run)(int64_t k, const float* a, const float* b, float* c, int64_t c_pitch);
};

// All that were built for this architecture, best first; the last one is supported everywhere.
std::span<const MatmulTile> matmul_tiles();
const MatmulTile& best_matmul_tile();

}  // namespace heed::cpu

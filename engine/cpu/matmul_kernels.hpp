// The innermost loops of matmul, one table per instruction set.
#pragma once

#include <cstddef>
#include <cstdint>
#include <heed/graph.hpp>

#include "cpu/ahead.hpp"

namespace heed::cpu {

// What happens to finished sums: out = residual + act(scale * sum + bias), f32 throughout.
struct TileFinish {
  float scale = 1.0f;
  Activation activation = Activation::None;
  const float* bias = nullptr;      // of the tile's columns; null: none
  const float* residual = nullptr;  // row r starts at residual_rows[r]; null: none
  const int64_t* residual_rows = nullptr;
  float* out = nullptr;  // row r starts at out_rows[r]; may be the sums themselves
  const int64_t* out_rows = nullptr;
};

struct MatmulKernels {
  int64_t rows = 0;  // of a register tile, at most
  int64_t cols = 0;  // of a panel of b, which is packed as [k][cols]

  // c[i][j] (+)= sum over p < k of a[i * a_row + p * a_k] * b[p][j], for all columns of one panel; c has
  // c_pitch floats from row to row. Sums run over p in order from 0 and are then added to c if `add`, else
  // stored. a is f32, or what Storage::narrow makes of it.
  using Tile = void (*)(int64_t k, const void* a, int64_t a_row, int64_t a_k, const void* b, float* c, int64_t c_pitch,
                        bool add, const Ahead& ahead);
  // One row of a by kThinPanels panels, panel_pitch elements apart; c: kThinPanels * cols.
  static constexpr int64_t kThinPanels = 4;
  using Thin = void (*)(int64_t k, const void* a, int64_t a_k, const void* b, int64_t panel_pitch, float* c, bool add);

  struct Storage {               // for panels of one storage type
    const Tile* tile = nullptr;  // tile[i] has i + 1 rows
    Thin thin = nullptr;
    // Not null: a must have gone through this, row by row, n of them to align_up(n, step) of 16 bits, and lie
    // with a_k 1; `k` of the tiles is then a multiple of step.
    void (*narrow)(const float* x, uint16_t* out, int64_t n) = nullptr;
    int64_t step = 1;  // rows of b side by side in its panels: [k / step][cols][step], filled up with zeros
    // k rows of a panel as one of f32, which pays where it serves so many tiles. Null: never.
    void (*widen)(int64_t k, const void* panel, float* out) = nullptr;
    int64_t widen_from = 0;
  };
  Storage f32, f16, bf16;
  const Storage& of(DType type) const { return type == DType::F16 ? f16 : type == DType::BF16 ? bf16 : f32; }

  // Applies `finish` to `rows` rows of `cols` sums.
  void (*finish)(const TileFinish& finish, int64_t rows, const float* sums, int64_t pitch) = nullptr;
};

}  // namespace heed::cpu

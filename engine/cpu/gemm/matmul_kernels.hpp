// The innermost loops of matmul, one table per instruction set.
#pragma once

#include <cstdint>
#include <heed/graph.hpp>

#include "cpu/device/prefetch.hpp"

namespace heed::cpu {

// How finished sums become results: out = residual + act(scale * sum + bias), or residual times it, all in f32; or, if `slopes`, scale *
// sum times the derivative of act at the residual.
struct TileFinish {
  float scale = 1.0f;
  Activation activation = Activation::None;
  const float* bias = nullptr;      // of the tile's columns; null: none
  const float* residual = nullptr;  // row r starts at residual_rows[r]; null: none
  const int64_t* residual_rows = nullptr;
  bool gated = false;     // the residual multiplies
  bool slopes = false;    // without a residual: only scale * sum
  float* kept = nullptr;  // receives the activation's input; row r starts at residual_rows[r]
  float* out = nullptr;   // row r starts at out_rows[r]; may be the memory of the sums
  const int64_t* out_rows = nullptr;
};

struct MatmulKernels {
  int64_t rows = 0;  // maximum rows of a register tile
  int64_t cols = 0;  // columns of a panel of b, which is packed as [k][cols]

  // c[i][j] (+)= sum over p < k of a[i * a_row + p * a_k] * b[p][j], for all columns of one panel. Rows of c are c_pitch floats apart. Sums
  // run over p in order from 0 and are then added to c if `add`, else stored. a is f32, or the output of Storage::narrow.
  using Tile = void (*)(int64_t k, const void* a, int64_t a_row, int64_t a_k, const void* b, float* c, int64_t c_pitch,
                        bool add, const Prefetch& prefetch);
  // Multiplies one row of a by Storage::thin_panels panels, panel_pitch elements apart; c has thin_panels * cols floats.
  static constexpr int64_t kThinPanels = 4;
  using Thin = void (*)(int64_t k, const void* a, int64_t a_k, const void* b, int64_t panel_pitch, float* c, bool add);

  struct Storage {               // the tiles for panels of one storage type
    const Tile* tile = nullptr;  // tile[i] has i + 1 rows; null: all panels are converted to f32
    int64_t tile_rows = 0;       // number of tiles; with more rows panels are converted. 0: as many as
                                 // MatmulKernels::rows
    Thin thin = nullptr;
    int64_t thin_panels = kThinPanels;
    // If not null, converts every row of a before: n floats become align_up(n, step) elements, in blocks of narrow_block.elements. a_k is
    // then 1, and `k` of the tiles a multiple of step.
    void (*narrow)(const float* x, void* out, int64_t n) = nullptr;
    TypeBlock narrow_block = {1, sizeof(uint16_t)};
    int64_t step = 1;  // rows of b interleaved in its panels: [k / step][cols][step], padded with zeros
    // Converts k rows of a panel to f32, which pays if at least widen_from tiles read them. Null: never.
    void (*widen)(int64_t k, const void* panel, float* out) = nullptr;
    int64_t widen_from = 0;
    // A cheaper conversion for a single row; null: the same.
    void (*widen_for_row)(int64_t k, const void* panel, float* out) = nullptr;

    // Bytes of this many elements of a row in the tiles' format, a multiple of narrow_block.elements.
    int64_t bytes_of_a(int64_t elements) const {
      if (narrow == nullptr) return elements * static_cast<int64_t>(sizeof(float));
      return elements / narrow_block.elements * narrow_block.bytes;
    }
  };
  Storage f32, f16, bf16;
  const Storage& of(DType type) const {
    if (is_quantized(type)) return quantized[static_cast<size_t>(type) - static_cast<size_t>(DType::Q8_0)];
    return type == DType::F16 ? f16 : type == DType::BF16 ? bf16 : f32;
  }

  // If not null, rows of a are copied and processed by this before they are multiplied.
  void (*prepare_a)(float* x, int64_t n) = nullptr;

  // Applies `finish` to `rows` rows of `cols` sums.
  void (*finish)(const TileFinish& finish, int64_t rows, const float* sums, int64_t pitch) = nullptr;

  const Storage* quantized = nullptr;  // by type, from DType::Q8_0 on; k of their tiles is a whole number of blocks
  // The same for rows of a rounded to 8 bits, for the same panels. Null if that is not faster.
  const Storage* rounded = nullptr;
  // The same kernels, except that elements of a that count as 0 add nothing, whatever b is. Only in reproducible plans.
  const MatmulKernels* skips_zeros = nullptr;
  bool skips = false;  // these are the kernels that skip zeros
};

// MatmulKernels::quantized for one of Highway's targets.
const MatmulKernels::Storage* quantized_storages(int64_t target);
// MatmulKernels::rounded for one of Highway's targets.
const MatmulKernels::Storage* rounded_storages(int64_t target);

}  // namespace heed::cpu

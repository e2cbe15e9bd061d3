// The innermost loops of matmul, one table per instruction set.
#pragma once

#include <cstdint>
#include <heed/graph.hpp>

#include "cpu/device/prefetch.hpp"

namespace heed::cpu {

// How finished sums become results: out = residual + act(scale * sum + bias), or times it, f32 throughout; or, if `slopes`,
// scale * sum times the derivative of act at the residual.
struct TileFinish {
  float scale = 1.0f;
  Activation activation = Activation::None;
  const float* bias = nullptr;      // of the tile's columns; null: none
  const float* residual = nullptr;  // row r starts at residual_rows[r]; null: none
  const int64_t* residual_rows = nullptr;
  bool gated = false;     // the residual multiplies
  bool slopes = false;    // without a residual: scale * sum alone
  float* kept = nullptr;  // what the activation is given; row r starts at residual_rows[r]
  float* out = nullptr;   // row r starts at out_rows[r]; may be the sums themselves
  const int64_t* out_rows = nullptr;
};

struct MatmulKernels {
  int64_t rows = 0;  // of a register tile, at most
  int64_t cols = 0;  // of a panel of b, which is packed as [k][cols]

  // c[i][j] (+)= sum over p < k of a[i * a_row + p * a_k] * b[p][j], for all columns of one panel. Rows of c are c_pitch
  // floats apart. Sums run over p in order from 0 and are then added to c if `add`, else stored. a is f32, or what
  // Storage::narrow has written.
  using Tile = void (*)(int64_t k, const void* a, int64_t a_row, int64_t a_k, const void* b, float* c, int64_t c_pitch,
                        bool add, const Prefetch& prefetch);
  // Multiplies one row of a by Storage::thin_panels panels, panel_pitch elements apart; c has thin_panels * cols floats.
  static constexpr int64_t kThinPanels = 4;
  using Thin = void (*)(int64_t k, const void* a, int64_t a_k, const void* b, int64_t panel_pitch, float* c, bool add);

  struct Storage {               // for panels of one storage type
    const Tile* tile = nullptr;  // tile[i] has i + 1 rows; null: all panels are widened
    int64_t tile_rows = 0;       // how many there are; more rows take widened panels. 0: as many as MatmulKernels::rows
    Thin thin = nullptr;
    int64_t thin_panels = kThinPanels;
    // If not null, this must have converted every row of a: n floats become align_up(n, step) elements, in blocks of
    // narrow_block.elements. a_k is then 1, and `k` of the tiles a multiple of step.
    void (*narrow)(const float* x, void* out, int64_t n) = nullptr;
    TypeBlock narrow_block = {1, sizeof(uint16_t)};
    int64_t step = 1;  // rows of b side by side in its panels: [k / step][cols][step], filled up with zeros
    // Converts k rows of a panel to f32, which pays where at least widen_from tiles read them. Null: never.
    void (*widen)(int64_t k, const void* panel, float* out) = nullptr;
    int64_t widen_from = 0;
    // The same for a single row, if that wants less done; null: it does not.
    void (*widen_for_row)(int64_t k, const void* panel, float* out) = nullptr;

    // Bytes of so many elements of a row as the tiles read it, a multiple of narrow_block.elements.
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

  // If not null, rows of a are copied and go through this before they are multiplied.
  void (*prepare_a)(float* x, int64_t n) = nullptr;

  // Applies `finish` to `rows` rows of `cols` sums.
  void (*finish)(const TileFinish& finish, int64_t rows, const float* sums, int64_t pitch) = nullptr;

  const Storage* quantized = nullptr;  // by type, from DType::Q8_0 on; k of their tiles is a whole number of blocks
  // The same for rows of a that are rounded to 8 bits, for the same panels. Null where that is no faster.
  const Storage* rounded = nullptr;
  // The same kernels, but elements of a that count as 0 add nothing, whatever b is. Only reproducible plans have these.
  const MatmulKernels* skips_zeros = nullptr;
  bool skips = false;  // whether these are such kernels
};

// MatmulKernels::quantized of one of Highway's targets.
const MatmulKernels::Storage* quantized_storages(int64_t target);
// MatmulKernels::rounded.
const MatmulKernels::Storage* rounded_storages(int64_t target);

}  // namespace heed::cpu

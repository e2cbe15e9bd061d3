// One chunk of a matmul: a block of rows by a group of panels. It runs register tiles over blocks of k, and finishes a tile while its sums
// are in the first-level cache.
#pragma once

#include <cstring>
#include <utility>

#include "cpu/gemm/matmul.hpp"
#include "cpu/simd/kernels.hpp"

namespace heed::cpu::matmul {

inline constexpr int64_t kBlockK = 768;  // a panel of 32 columns then takes 96 KiB, and 12 rows of a 36 KiB
// The most panels of a chunk: 288 KiB of b, which fit into the second-level cache together with the next chunk's.
inline constexpr int64_t kGroupPanels = 3;
// The maximum height of a chunk, in tiles.
inline constexpr int64_t kBlockTiles = 16;
// The prefetch distance, in bytes of b, for a single row of tiles.
inline constexpr int64_t kFar = 8192;

// Blocks of k have equal length, as far as possible, and consist of whole blocks of a quantized type.
inline int64_t block_length(int64_t k, DType type) {
  const int64_t blocks = std::max<int64_t>(1, ceil_div(k, kBlockK));
  return std::max<int64_t>(1, align_up<int64_t>(ceil_div(k, blocks), std::max<int64_t>(8, block_of(type).elements)));
}

// Offsets in one worker's scratch, in bytes.
struct Scratch {
  uint64_t sums, a, wide, bias, residual, offsets, size;

  explicit Scratch(const MatmulKernels& kernels) {
    const auto rows = static_cast<uint64_t>(kBlockTiles * kernels.rows), cols = static_cast<uint64_t>(kernels.cols);
    uint64_t at = 0;
    const auto take = [&at](uint64_t bytes) { return std::exchange(at, at + align_up(bytes, kAlignment)); };
    sums = take(rows * kGroupPanels * cols * sizeof(float));
    a = take(rows * kBlockK * sizeof(float));
    wide = take(kGroupPanels * cols * kBlockK * sizeof(float));
    bias = take(cols * sizeof(float));
    residual = take(cols * sizeof(float));
    offsets = take(4 * rows * sizeof(int64_t));
    size = at;
  }
};

// The current rows of one batch. `data` has them in the form that tiles need, `pitch` elements apart; if it is null, tiles read a in place.
// Rows of a transposed a are packed by tiles of MatmulKernels::rows rows, [k][rows] of f32 each, `pitch` floats apart.
struct Band {
  int64_t first = 0, count = 0;
  const std::byte* data = nullptr;
  int64_t pitch = 0;
  bool by_tiles = false;
};

class Chunk {
 public:
  Chunk(const Problem& problem, const Position& batch, const Band& band, const std::byte* panels, DType panel_type,
        std::byte* scratch)
      : problem_(problem),
        band_(band),
        kernels_(problem.kernels),
        rows_kernels_(*problem.operand[kOut].kernels),
        panels_(panels),
        panel_type_(panel_type),
        tiles_(problem.kernels.of(panel_type)),
        panel_bytes_(panel_bytes(problem.panel_elements(panel_type), panel_type)),
        layout_(problem.kernels),
        scratch_(scratch),
        batch_(batch) {}

  // Multiplies by `panels` panels, the first of which starts at column `first_column` of b. The panels that this worker reads next are
  // probably `next` bytes later (earlier, if negative); 0: unknown.
  void run(int64_t first_row, int64_t rows, int64_t first_column, int64_t panels, int64_t next) {
    next_ = next;
    first_row_ = first_row;
    rows_ = rows;
    first_column_ = first_column;
    count_ = panels;
    find_rows(first_row);
    const int64_t length = block_length(problem_.k, panel_type_);
    // With one block of k a tile is finished at once, and all tiles use the same memory for sums.
    const bool blocked = problem_.k > length;
    pitch_ = blocked ? panels * kernels_.cols : kernels_.cols * (rows == 1 ? panels : 1);
    for (int64_t begin = 0; begin == 0 || begin < problem_.k; begin += length)
      multiply(begin, std::min(length, problem_.k - begin), blocked);
  }

 private:
  template <class T>
  T* scratch(uint64_t offset) const {
    return reinterpret_cast<T*>(scratch_ + offset);
  }
  int64_t* offsets(int role) const { return scratch<int64_t>(layout_.offsets) + role * kBlockTiles * kernels_.rows; }

  // Finds the start of each row in the operands. b has no rows; its entry is the row-major index in out of the row's first element, which
  // dropout uses.
  void find_rows(int64_t first_row) {
    Position at = batch_;
    at.advance(problem_.rows, first_row);
    const Axes& axes = problem_.rows;
    if (axes.count <= 1) {
      // With at most one axis, offsets have a constant stride.
      for (const int role : {kA, kOut, kResidual}) spread(at.offset[role], axes.stride[role][0], offsets(role));
      return spread(at.logical, axes.logical[0], offsets(kB));
    }
    for (int64_t r = 0; r < rows_; ++r) {
      if (r > 0) {
        at = batch_;
        at.advance(axes, first_row + r);
      }
      for (const int role : {kA, kOut, kResidual}) offsets(role)[r] = at.offset[role];
      offsets(kB)[r] = at.logical;
    }
  }
  void spread(int64_t first, int64_t step, int64_t* to) const {
    for (int64_t r = 0; r < rows_; ++r) to[r] = first + r * step;
  }

  // The location of the rows for a block of k: `pitch` elements between rows, and `step` between the elements of one.
  struct RowsOfA {
    const std::byte* data;
    int64_t pitch, step = 1;
    int64_t next_tile = 0;  // bytes between tiles; 0: tiles may have any height, and rows are consecutive
  };
  RowsOfA rows_of_a(int64_t begin, int64_t length) {
    const Operand& a = problem_.operand[kA];
    if (band_.by_tiles) {
      const int64_t height = kernels_.rows, next = band_.pitch * static_cast<int64_t>(sizeof(float));
      return {band_.data + (first_row_ - band_.first) / height * next +
                  begin * height * static_cast<int64_t>(sizeof(float)),
              1, height, next};
    }
    if (band_.data != nullptr)
      return {band_.data + tiles_.bytes_of_a((first_row_ - band_.first) * band_.pitch + begin), band_.pitch};
    if (problem_.direct_a)
      return {reinterpret_cast<const std::byte*>(a.at<float>(offsets(kA)[0]) + begin),
              rows_ > 1 ? offsets(kA)[1] - offsets(kA)[0] : 0};
    for (int64_t r = 0; r < rows_; ++r)
      load_copy(a, offsets(kA)[r] + begin * problem_.a_k_stride, problem_.a_k_stride, length,
                scratch<float>(layout_.a) + r * length);
    if (kernels_.prepare_a != nullptr) kernels_.prepare_a(scratch<float>(layout_.a), rows_ * length);
    return {scratch<std::byte>(layout_.a), length};
  }

  void multiply(int64_t begin, int64_t length, bool blocked) {
    const bool last = begin + length >= problem_.k;
    const RowsOfA a = rows_of_a(begin, length);
    const int64_t steps = tiles_.narrow != nullptr ? align_up(length, tiles_.step) : length;
    const int64_t row_bytes = tiles_.bytes_of_a(a.pitch);
    if (rows_ == 1 && tiles_.tile != nullptr) return multiply_row(begin, steps, a, last);
    // All tiles get the same height as far as possible, unless they are packed.
    const int64_t count = ceil_div(rows_, kernels_.rows), height = a.next_tile != 0 ? kernels_.rows : rows_ / count,
                  taller = a.next_tile != 0 ? 0 : rows_ % count;
    const bool too_tall =
        tiles_.tile != nullptr && tiles_.tile_rows != 0 && height + (taller > 0 ? 1 : 0) > tiles_.tile_rows;
    const bool widened = tiles_.widen != nullptr && (count >= tiles_.widen_from || too_tall);
    const MatmulKernels::Tile* tiles = widened ? kernels_.f32.tile : tiles_.tile;
    const auto widen = rows_ == 1 && tiles_.widen_for_row != nullptr ? tiles_.widen_for_row : tiles_.widen;
    for (int64_t p = 0; widened && p < count_; ++p) widen(length, panel(p, begin), wide(p, length));
    for (int64_t t = 0, r = 0; t < count; ++t) {
      const int64_t rows = std::min(rows_ - r, height + (t < taller ? 1 : 0));
      const std::byte* const data = a.data + (a.next_tile != 0 ? t * a.next_tile : r * row_bytes);
      const auto tile = tiles[rows - 1];
      const int64_t used = kernels_.skips ? used_steps(data, rows, a.pitch, steps) : steps;
      for (int64_t p = 0; p < count_; ++p) {
        float* sums = scratch<float>(layout_.sums) + (blocked ? r * pitch_ + p * kernels_.cols : 0);
        const std::byte* b = panel(p, begin);
        Prefetch prefetch = upcoming(b, last ? next_ - bytes_of_steps(begin) : bytes_of_steps(length), t, count, steps);
        if (last && problem_.direct_finish) prefetch_out(r, rows, p, &prefetch);
        const void* read = widened ? static_cast<const void*>(wide(p, length)) : b;
        tile(used, data, a.pitch, a.step, read, sums, pitch_, begin > 0, prefetch);
        if (last) finish(r, rows, p, sums);
      }
      r += rows;
    }
  }

  // The number of steps up to the last one at which a row has a nonzero element. Later ones are keys that causal attention hides.
  static int64_t used_steps(const std::byte* data, int64_t rows, int64_t pitch, int64_t steps) {
    int64_t used = 0;
    for (int64_t r = 0; r < rows; ++r) {
      const auto* const row = reinterpret_cast<const float*>(data) + r * pitch;
      int64_t k = steps;
      while (k > used && row[k - 1] == 0.0f) --k;
      used = k;
    }
    return used;
  }

  // The memory to prefetch. A single row of tiles prefetches the panel that it reads. If several rows of tiles read a panel, it comes from
  // the caches, and they prefetch the panel that this worker reads next, `next` bytes later: each row another range of it, so that memory
  // traffic is even over time.
  Prefetch upcoming(const std::byte* b, int64_t next, int64_t tile_row, int64_t tile_rows, int64_t steps) const {
    const int64_t step_bytes = ceil_div(bytes_of_steps(steps), steps);
    if (tile_rows == 1 || next == 0) return {b + kFar, step_bytes};
    const int64_t pitch = ceil_div(step_bytes, tile_rows);
    return {b + next + tile_row * pitch * steps, pitch};
  }

  void prefetch_out(int64_t r, int64_t rows, int64_t p, Prefetch* prefetch) const {
    const int64_t* starts = offsets(kOut) + r;
    const float* first = problem_.operand[kOut].at<float>(first_column_ + p * kernels_.cols + starts[0]);
    prefetch->out = reinterpret_cast<const std::byte*>(first);
    prefetch->out_pitch = rows > 1 ? (starts[1] - starts[0]) * static_cast<int64_t>(sizeof(float)) : 0;
  }

  void multiply_row(int64_t begin, int64_t length, const RowsOfA& a, bool last) {
    float* sums = scratch<float>(layout_.sums);
    int64_t p = 0;
    for (; p + tiles_.thin_panels <= count_; p += tiles_.thin_panels)
      tiles_.thin(length, a.data, a.step, panel(p, begin), problem_.panel_elements(panel_type_),
                  sums + p * kernels_.cols, begin > 0);
    for (; p < count_; ++p)
      tiles_.tile[0](length, a.data, 0, a.step, panel(p, begin), sums + p * kernels_.cols, pitch_, begin > 0,
                     {panel(p, begin) + kFar, ceil_div(bytes_of_steps(length), length)});
    for (p = 0; last && p < count_; ++p) finish(0, 1, p, sums + p * kernels_.cols);
  }

  float* wide(int64_t p, int64_t length) const { return scratch<float>(layout_.wide) + p * length * kernels_.cols; }
  const std::byte* panel(int64_t p, int64_t begin) const { return panels_ + p * panel_bytes_ + bytes_of_steps(begin); }
  int64_t bytes_of_steps(int64_t steps) const { return panel_bytes(steps * kernels_.cols, panel_type_); }

  void finish(int64_t r, int64_t rows, int64_t p, float* sums) const {
    const int64_t column = first_column_ + p * kernels_.cols;
    const int64_t columns = std::min(kernels_.cols, problem_.n - column);
    const MatmulAttrs& attrs = problem_.attrs;
    TileFinish finish;
    finish.scale = attrs.scale;
    finish.activation = attrs.activation;
    finish.slopes = attrs.slopes;
    finish.bias = bias(column, columns);
    if (problem_.direct_finish && columns == kernels_.cols) {
      const Operand& residual = problem_.operand[kResidual];
      float* const other = residual.valid() ? residual.at<float>(column) : nullptr;
      if (problem_.keeps)
        finish.kept = other;
      else
        finish.residual = other;
      finish.residual_rows = offsets(kResidual) + r;
      finish.gated = attrs.gated;
      finish.out = problem_.operand[kOut].at<float>(column);
      finish.out_rows = offsets(kOut) + r;
      return kernels_.finish(finish, rows, sums, pitch_);
    }
    const int64_t start = 0;
    finish.out_rows = &start;
    if (problem_.keeps) finish.activation = Activation::None;  // applied later
    for (int64_t i = 0; i < rows; ++i) {
      finish.out = sums + i * pitch_;
      kernels_.finish(finish, 1, finish.out, pitch_);
      finish_row(r + i, column, columns, finish.out);
    }
  }

  const float* bias(int64_t column, int64_t columns) const {
    const Operand& bias = problem_.bias;
    if (!bias.valid()) return nullptr;
    const int64_t stride = row_stride(bias.view);
    float* buffer = scratch<float>(layout_.bias);
    if (columns == kernels_.cols) return load(bias, column * stride, stride, columns, buffer);
    std::memset(buffer, 0, static_cast<size_t>(kernels_.cols) * sizeof(float));
    load_copy(bias, column * stride, stride, columns, buffer);
    return buffer;
  }

  // Applies dropout and the residual to a row, and stores it, if tiles cannot do so themselves.
  void finish_row(int64_t r, int64_t column, int64_t columns, float* row) const {
    if (problem_.keeps) {
      const Operand& kept = problem_.operand[kResidual];
      store(kept, offsets(kResidual)[r] + column * row_stride(kept.view), row_stride(kept.view), columns, row);
      rows_kernels_.activate(problem_.attrs.activation, row, row, columns);
    }
    if (problem_.attrs.dropout.p > 0.0f)
      rows_kernels_.dropout(problem_.dropout, static_cast<uint64_t>(offsets(kB)[r] + column), row, row, columns);
    const Operand& residual = problem_.operand[kResidual];
    if (residual.valid() && !problem_.keeps) {
      const int64_t stride = row_stride(residual.view);
      const float* other =
          load(residual, offsets(kResidual)[r] + column * stride, stride, columns, scratch<float>(layout_.residual));
      if (problem_.attrs.slopes) rows_kernels_.activate_backward(problem_.attrs.activation, row, other, row, columns);
      const auto combine = problem_.attrs.gated ? rows_kernels_.multiply : rows_kernels_.add;
      if (!problem_.attrs.slopes) combine(row, other, row, columns);
    }
    const Operand& out = problem_.operand[kOut];
    const int64_t stride = row_stride(out.view);
    store(out, offsets(kOut)[r] + column * stride, stride, columns, row);
  }

  const Problem& problem_;
  const Band& band_;
  const MatmulKernels& kernels_;
  const RowKernels& rows_kernels_;
  const std::byte* panels_;  // panels of the current group
  DType panel_type_;
  const MatmulKernels::Storage& tiles_;
  int64_t panel_bytes_;
  Scratch layout_;
  std::byte* scratch_;
  Position batch_;
  int64_t first_row_ = 0, rows_ = 0, first_column_ = 0, count_ = 0, pitch_ = 0, next_ = 0;
};

}  // namespace heed::cpu::matmul

#include "cpu/gemm/blocks.hpp"

#include <cstring>

#include "base/blocks.hpp"
#include "cpu/gemm/block_words.hpp"
#include "cpu/simd/kernels.hpp"

namespace heed::cpu {
namespace {

// Moves the numbers of one column's block between a block and a panel.
template <class Move>
void each_number(DType type, int64_t cols, int64_t column, const Move& move) {
  int64_t at = 0;
  const auto run = [&](const BlockRun& numbers, auto size) {
    constexpr size_t kSize = decltype(size)::value;
    for (int i = 0; i < numbers.count; ++i, at += kSize) move(at, (at * cols) + column * kSize, size);
  };
  for (const BlockRun& numbers : runs_of(type)) {
    if (numbers.bytes == 1) run(numbers, std::integral_constant<size_t, 1>());
    if (numbers.bytes == 2) run(numbers, std::integral_constant<size_t, 2>());
    if (numbers.bytes == 4) run(numbers, std::integral_constant<size_t, 4>());
  }
}

void write_block(DType type, const std::byte* file, int64_t cols, int64_t column, std::byte* panel) {
  std::byte words[kMostBlockBytes];
  to_words(type, file, words);
  each_number(type, cols, column, [&](int64_t at, int64_t place, auto size) {
    std::memcpy(panel + place, words + at, decltype(size)::value);
  });
}

void read_block(DType type, const std::byte* panel, int64_t cols, int64_t column, std::byte* file) {
  std::byte words[kMostBlockBytes];
  each_number(type, cols, column, [&](int64_t at, int64_t place, auto size) {
    std::memcpy(words + at, panel + place, decltype(size)::value);
  });
  from_words(type, words, file);
}

}  // namespace

std::shared_ptr<PackedB> allocate_blocks(DType type, int64_t rows, int64_t k, const MatmulKernels& kernels,
                                         PagePool* pages) {
  auto packed = std::make_shared<PackedB>();
  packed->dtype = type;
  const int64_t bytes = ceil_div(rows, kernels.cols) * panel_bytes(k * kernels.cols, type);
  return packed->memory.allocate(static_cast<uint64_t>(bytes), pages) ? packed : nullptr;
}

void pack_blocks(const std::byte* rows, int64_t first, int64_t row_count, int64_t k, const MatmulKernels& kernels,
                 ThreadPool& pool, PackedB* packed) {
  const DType type = packed->dtype;
  const int64_t cols = kernels.cols, blocks = k / block_of(type).elements, bytes = block_of(type).bytes;
  const int64_t row_bytes = blocks * bytes, panel = panel_bytes(k * cols, type);
  parallel(pool, ceil_div(row_count, cols), 1, [&](uint32_t, int64_t begin, int64_t end) {
    for (int64_t p = begin; p < end; ++p) {
      std::byte* to = packed->memory.data() + (first / cols + p) * panel;
      const int64_t count = std::min(cols, row_count - p * cols);
      if (count < cols) std::memset(to, 0, static_cast<size_t>(panel));
      for (int64_t b = 0; b < blocks; ++b)
        for (int64_t j = 0; j < count; ++j)
          write_block(type, rows + (p * cols + j) * row_bytes + b * bytes, cols, j, to + b * bytes * cols);
    }
  });
}

std::shared_ptr<const PackedB> blocks_of(const std::shared_ptr<const PackedB>& whole, const View& view,
                                         const MatmulKernels& kernels, PagePool* pages) {
  const LayoutB layout(view);
  const int64_t k = layout.k(), n = layout.n(), cols = kernels.cols, batches = row_count(layout.batches);
  const int64_t first = view.offset / k;
  if (first % cols == 0 && (batches == 1 || n % cols == 0)) return whole;
  const int64_t panels = ceil_div(n, cols), blocks = k / block_of(view.dtype).elements,
                bytes = block_of(view.dtype).bytes;
  std::shared_ptr<PackedB> packed = allocate_blocks(view.dtype, batches * panels * cols, k, kernels, pages);
  if (packed == nullptr) return nullptr;
  packed->first_row = first;
  std::memset(packed->memory.data(), 0, static_cast<size_t>(packed->memory.bytes()));
  std::byte block[kMostBlockBytes];
  const auto place = [&](const PackedB& form, int64_t row, int64_t b) {
    return form.memory.data() + row / cols * panel_bytes(k * cols, view.dtype) + b * bytes * cols;
  };
  for (int64_t i = 0; i < batches * n; ++i)
    for (int64_t b = 0; b < blocks; ++b) {
      const int64_t from = first + i, to = i / n * panels * cols + i % n;
      read_block(view.dtype, place(*whole, from, b), cols, from % cols, block);
      write_block(view.dtype, block, cols, to % cols, place(*packed, to, b));
    }
  return packed;
}

const std::byte* first_panel(const PackedB& packed, const View& view, const MatmulKernels& kernels) {
  const int64_t k = LayoutB(view).k(), row = view.offset / k - packed.first_row;
  return packed.memory.data() + row / kernels.cols * panel_bytes(k * kernels.cols, view.dtype);
}

void widen_row(const PackedB& whole, int64_t row, int64_t k, const MatmulKernels& kernels, float* values) {
  const TypeBlock size = block_of(whole.dtype);
  const std::byte* panel = whole.memory.data() + row / kernels.cols * panel_bytes(k * kernels.cols, whole.dtype);
  std::byte block[kMostBlockBytes];
  for (int64_t b = 0; b < k / size.elements; ++b) {
    read_block(whole.dtype, panel + b * size.bytes * kernels.cols, kernels.cols, row % kernels.cols, block);
    widen_blocks(whole.dtype, block, 1, values + b * size.elements);
  }
}

}  // namespace heed::cpu

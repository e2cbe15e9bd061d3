#include "cpu/blocks.hpp"

#include <cstring>

#include "base/blocks.hpp"
#include "cpu/kernels.hpp"

namespace heed::cpu {
namespace {

// Where the f16 numbers of a block lie, one behind the other.
struct Halves {
  int64_t at, count;
};
Halves halves_of(DType type) {
  switch (type) {
    case DType::Q8_0:
    case DType::Q4_0:
    case DType::Q5_0: return {0, 1};
    case DType::Q6_K: return {208, 1};
    default: return {0, 2};
  }
}

// Writes one block of a column to its places in a panel, whose bytes lie `cols` apart.
class Column {
 public:
  Column(DType type, int64_t cols) : halves_(halves_of(type)), bytes_(block_of(type).bytes), cols_(cols) {}

  void write(const std::byte* block, std::byte* panel, int64_t column) const {
    each([&](int64_t at, int64_t place, size_t size) { std::memcpy(panel + place, block + at, size); }, column);
  }
  void read(const std::byte* panel, int64_t column, std::byte* block) const {
    each([&](int64_t at, int64_t place, size_t size) { std::memcpy(block + at, panel + place, size); }, column);
  }

 private:
  template <class Move>
  void each(const Move& move, int64_t column) const {
    const int64_t end = halves_.at + halves_.count * 2;
    for (int64_t at = 0; at < halves_.at; ++at) move(at, at * cols_ + column, 1);
    for (int64_t at = halves_.at; at < end; at += 2) move(at, at * cols_ + column * 2, 2);
    for (int64_t at = end; at < bytes_; ++at) move(at, at * cols_ + column, 1);
  }
  Halves halves_;
  int64_t bytes_, cols_;
};

}  // namespace

std::shared_ptr<PackedB> allocate_blocks(DType type, int64_t rows, int64_t k, const MatmulKernels& kernels) {
  auto packed = std::make_shared<PackedB>();
  packed->dtype = type;
  const int64_t bytes = ceil_div(rows, kernels.cols) * panel_bytes(k * kernels.cols, type);
  return packed->memory.allocate(static_cast<uint64_t>(bytes)) ? packed : nullptr;
}

void pack_blocks(const std::byte* rows, int64_t row_count, int64_t k, const MatmulKernels& kernels, ThreadPool& pool,
                 PackedB* packed) {
  const int64_t cols = kernels.cols, blocks = k / block_of(packed->dtype).elements, bytes = block_of(packed->dtype).bytes;
  const int64_t row_bytes = blocks * bytes, panel = panel_bytes(k * cols, packed->dtype);
  const Column column(packed->dtype, cols);
  parallel(pool, ceil_div(row_count, cols), 1, [&](uint32_t, int64_t begin, int64_t end) {
    for (int64_t p = begin; p < end; ++p) {
      std::byte* to = packed->memory.data() + p * panel;
      const int64_t count = std::min(cols, row_count - p * cols);
      if (count < cols) std::memset(to, 0, static_cast<size_t>(panel));
      for (int64_t b = 0; b < blocks; ++b)
        for (int64_t j = 0; j < count; ++j)
          column.write(rows + (p * cols + j) * row_bytes + b * bytes, to + b * bytes * cols, j);
    }
  });
}

std::shared_ptr<const PackedB> blocks_of(const std::shared_ptr<const PackedB>& whole, const View& view,
                                         const MatmulKernels& kernels) {
  const LayoutB layout(view);
  const int64_t k = layout.k(), n = layout.n(), cols = kernels.cols, batches = row_count(layout.batches);
  const int64_t first = view.offset / k;
  if (first % cols == 0 && (batches == 1 || n % cols == 0)) return whole;
  const int64_t panels = ceil_div(n, cols), blocks = k / block_of(view.dtype).elements, bytes = block_of(view.dtype).bytes;
  std::shared_ptr<PackedB> packed = allocate_blocks(view.dtype, batches * panels * cols, k, kernels);
  if (packed == nullptr) return nullptr;
  packed->first_row = first;
  std::memset(packed->memory.data(), 0, static_cast<size_t>(packed->memory.bytes()));
  const Column column(view.dtype, cols);
  std::byte block[kMostBlockBytes];
  const auto place = [&](const PackedB& form, int64_t row, int64_t b) {
    return form.memory.data() + row / cols * panel_bytes(k * cols, view.dtype) + b * bytes * cols;
  };
  for (int64_t i = 0; i < batches * n; ++i)
    for (int64_t b = 0; b < blocks; ++b) {
      const int64_t to = i / n * panels * cols + i % n;
      column.read(place(*whole, first + i, b), (first + i) % cols, block);
      column.write(block, place(*packed, to, b), to % cols);
    }
  return packed;
}

const std::byte* first_panel(const PackedB& packed, const View& view, const MatmulKernels& kernels) {
  const int64_t k = LayoutB(view).k();
  return packed.memory.data() + (view.offset / k - packed.first_row) / kernels.cols * panel_bytes(k * kernels.cols, view.dtype);
}

void widen_row(const PackedB& whole, int64_t row, int64_t k, const MatmulKernels& kernels, float* values) {
  const TypeBlock size = block_of(whole.dtype);
  const Column column(whole.dtype, kernels.cols);
  const std::byte* panel = whole.memory.data() + row / kernels.cols * panel_bytes(k * kernels.cols, whole.dtype);
  std::byte block[kMostBlockBytes];
  for (int64_t b = 0; b < k / size.elements; ++b) {
    column.read(panel + b * size.bytes * kernels.cols, row % kernels.cols, block);
    widen_blocks(whole.dtype, block, 1, values + b * size.elements);
  }
}

}  // namespace heed::cpu

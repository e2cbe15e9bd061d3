#include <cstring>

#include "cpu/gemm/matmul.hpp"
#include "cpu/simd/kernels.hpp"

namespace heed::cpu {
namespace {

constexpr int64_t kRun = 256;  // elements that are read at a time

// For columns that are contiguous along k: reads runs of k and transposes them into the panel.
template <class T, class Load>
void turn(const Operand& b, int64_t offset, int64_t count, int64_t cols, T* panel, const Load& load_run) {
  const View& v = b.view;
  const int64_t k = v.dim[v.rank - 2], column = v.stride[v.rank - 1];
  T buffer[kRun];
  for (int64_t begin = 0; begin < k; begin += kRun) {
    const int64_t length = std::min(kRun, k - begin);
    for (int64_t j = 0; j < count; ++j) {
      const T* from = load_run(offset + j * column + begin, int64_t{1}, length, buffer);
      T* to = panel + begin * cols + j;
      for (int64_t p = 0; p < length; ++p) to[p * cols] = from[p];
    }
  }
}

template <class T, class Load>
void pack(const Operand& b, int64_t offset, int64_t count, int64_t cols, T* panel, const Load& load_run) {
  const View& v = b.view;
  const int64_t k = v.dim[v.rank - 2], row = v.stride[v.rank - 2], column = v.stride[v.rank - 1];
  if (count < cols) std::memset(panel, 0, static_cast<size_t>(k * cols) * sizeof(T));
  if (column != 1 && row == 1) return turn(b, offset, count, cols, panel, load_run);
  T buffer[kRun];
  for (int64_t p = 0; p < k; ++p)
    for (int64_t j = 0; j < count; j += kRun) {
      const int64_t length = std::min(kRun, count - j);
      const T* from = load_run(offset + p * row + j * column, column, length, buffer);
      std::memcpy(panel + p * cols + j, from, static_cast<size_t>(length) * sizeof(T));
    }
}

// Interleaves each two rows of a panel into one row of pairs.
void interleave(uint16_t* panel, int64_t rows, int64_t cols) {
  constexpr int64_t kMostCols = 256;
  uint16_t first[kMostCols];
  for (int64_t p = 0; p + 2 <= rows; p += 2) {
    uint16_t* at = panel + p * cols;
    std::memcpy(first, at, static_cast<size_t>(cols) * sizeof(uint16_t));
    for (int64_t j = 0; j < cols; ++j) {
      const uint16_t second = at[cols + j];
      // The first half of the pairs overwrites the first row, of which `first` is a copy. The other half overwrites elements of the second
      // row that were already read.
      at[2 * j] = first[j];
      at[2 * j + 1] = second;
    }
  }
}

}  // namespace

void pack_panel(const Operand& b, int64_t offset, int64_t first, int64_t cols, DType packed_type, void* panel) {
  const View& v = b.view;
  const int64_t count = std::min(cols, v.dim[v.rank - 1] - first);
  offset += first * v.stride[v.rank - 1];
  if (packed_type == DType::F32) {
    const auto floats = [&](int64_t at, int64_t stride, int64_t n, float* buffer) {
      return load(b, at, stride, n, buffer);
    };
    return pack(b, offset, count, cols, static_cast<float*>(panel), floats);
  }
  const auto halves = [&](int64_t at, int64_t stride, int64_t n, uint16_t* buffer) -> const uint16_t* {
    const uint16_t* from = b.at<uint16_t>(at);
    if (stride == 1) return from;
    for (int64_t i = 0; i < n; ++i) buffer[i] = from[i * stride];
    return buffer;
  };
  pack(b, offset, count, cols, static_cast<uint16_t*>(panel), halves);
}

bool has_constant_b(const Schedule& schedule, const Node& node) {
  const Tensor b = node.inputs[in::kB];
  const Placement::Space space = schedule.placement(b).space;
  if (space != Placement::Space::Weight && space != Placement::Space::Constant) return false;
  const TensorInfo& info = schedule.info(b);
  bool constant = schedule.sizes.is_constant(info.offset);
  for (size_t i = 0; i < static_cast<size_t>(info.rank); ++i)
    constant = constant && schedule.sizes.is_constant(info.dims[i]) && schedule.sizes.is_constant(info.strides[i]) &&
               (!schedule.sizes.is_constant(info.strides[i], 0) || schedule.sizes.is_constant(info.dims[i], 1));
  return constant;
}

std::shared_ptr<const PackedB> pack_constant(const Operand& b, const MatmulKernels& kernels, ThreadPool& pool,
                                             PagePool* pages) {
  const LayoutB layout(b.view);
  const int64_t panels = ceil_div(layout.n(), kernels.cols);
  const int64_t step = kernels.of(b.view.dtype).step, rows = align_up(layout.k(), step);
  const int64_t row_bytes = kernels.cols * static_cast<int64_t>(size_of(b.view.dtype)), panel_bytes = rows * row_bytes;
  auto packed = std::make_shared<PackedB>();
  packed->dtype = b.view.dtype;
  const int64_t all_panels = row_count(layout.batches) * panels;
  if (!packed->memory.allocate(static_cast<uint64_t>(all_panels * panel_bytes), pages)) return nullptr;
  parallel(pool, all_panels, 1, [&](uint32_t, int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      std::byte* panel = packed->memory.data() + i * panel_bytes;
      pack_panel(b, row_offset(layout.batches, i / panels), i % panels * kernels.cols, kernels.cols, b.view.dtype,
                 panel);
      std::memset(panel + layout.k() * row_bytes, 0, static_cast<size_t>((rows - layout.k()) * row_bytes));
      if (step == 2) interleave(reinterpret_cast<uint16_t*>(panel), rows, kernels.cols);
    }
  });
  return packed;
}

namespace {

template <class T>
void unpack_panel(const T* panel, const View& v, int64_t offset, int64_t first, int64_t cols, int64_t step, T* to) {
  const int64_t k = v.dim[v.rank - 2], row = v.stride[v.rank - 2], column = v.stride[v.rank - 1];
  const int64_t count = std::min(cols, v.dim[v.rank - 1] - first);
  to += offset + first * column;
  for (int64_t p = 0; p < k; ++p)
    for (int64_t j = 0; j < count; ++j) to[p * row + j * column] = panel[p / step * step * cols + j * step + p % step];
}

}  // namespace

void unpack(const PackedB& packed, const View& view, const MatmulKernels& kernels, ThreadPool& pool, std::byte* to) {
  const LayoutB layout(view);
  const int64_t panels = ceil_div(layout.n(), kernels.cols), step = kernels.of(view.dtype).step;
  const int64_t elements = align_up(layout.k(), step) * kernels.cols;
  parallel(pool, row_count(layout.batches) * panels, 1, [&](uint32_t, int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const auto turn_back = [&]<class T>(T*) {
        unpack_panel(reinterpret_cast<const T*>(packed.memory.data()) + i * elements, view,
                     row_offset(layout.batches, i / panels), i % panels * kernels.cols, kernels.cols, step,
                     reinterpret_cast<T*>(to));
      };
      if (view.dtype == DType::F32)
        turn_back(static_cast<uint32_t*>(nullptr));
      else
        turn_back(static_cast<uint16_t*>(nullptr));
    }
  });
}

}  // namespace heed::cpu

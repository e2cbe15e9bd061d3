// Rows (the last axis of a tensor), read and written as f32 for any storage type and stride.
#pragma once

#include <cstdint>

#include "cpu/device/pass.hpp"

namespace heed::cpu {

// A tensor of rank 0 is one row of one element.
inline int64_t row_length(const View& view) { return view.rank > 0 ? view.dim[view.rank - 1] : 1; }
inline int64_t row_stride(const View& view) { return view.rank > 0 ? view.stride[view.rank - 1] : 0; }
inline int64_t row_count(const View& view) {
  int64_t n = 1;
  for (int i = 0; i + 1 < view.rank; ++i) n *= view.dim[i];
  return n;
}
// Offset, in elements, of row `row` in row-major order of all axes but the last.
int64_t row_offset(const View& view, int64_t row);

// n elements from `offset` on, `stride` apart, as f32. Returns a pointer into the tensor if it can be read in place, else `buffer` (n
// floats) with the values.
const float* load(const Operand& x, int64_t offset, int64_t stride, int64_t n, float* buffer);
// The same, always into `buffer`.
void load_copy(const Operand& x, int64_t offset, int64_t stride, int64_t n, float* buffer);
void store(const Operand& x, int64_t offset, int64_t stride, int64_t n, const float* values);

// Where to compute the result of row `row`: in place if rows of x are contiguous f32 and not written past the caches, else in `buffer`,
// from which store_row copies it.
inline float* row_target(const Operand& x, int64_t row, float* buffer) {
  const bool direct = x.view.dtype == DType::F32 && (row_stride(x.view) == 1 || row_length(x.view) == 1);
  return direct && !x.past_caches ? x.at<float>(row_offset(x.view, row)) : buffer;
}
inline const float* load_row(const Operand& x, int64_t row, float* buffer) {
  return load(x, row_offset(x.view, row), row_stride(x.view), row_length(x.view), buffer);
}
// Adds row `row` of x to `sums`; `buffer` has the size of a row.
inline void add_row(const Operand& x, int64_t row, float* buffer, float* sums) {
  x.kernels->add(sums, load_row(x, row, buffer), sums, row_length(x.view));
}
// A vector [C] as f32, in place or in `buffer`; null if x is absent.
inline const float* load_vector(const Operand& x, float* buffer) {
  return x.valid() ? load(x, 0, row_stride(x.view), row_length(x.view), buffer) : nullptr;
}
// The row of x that is read `further` rows after `row`, to be prefetched meanwhile. Null past the last row, and if rows of out do not
// bypass the caches: then the hardware prefetcher is good enough.
inline const float* next_row(const Operand& x, const Operand& out, int64_t row, int64_t end, int64_t further = 1) {
  return out.past_caches && row + further < end ? row_target(x, row + further, nullptr) : nullptr;
}
inline void store_row(const Operand& x, int64_t row, const float* values) {
  if (values == row_target(x, row, nullptr)) return;
  store(x, row_offset(x.view, row), row_stride(x.view), row_length(x.view), values);
}

// Rows per chunk of parallel work: enough elements that scheduling costs little.
inline int64_t row_grain(int64_t length) {
  constexpr int64_t kElementsPerChunk = 8192;
  return std::max<int64_t>(1, kElementsPerChunk / std::max<int64_t>(length, 1));
}

// The scratch of an operation whose workers keep `rows` rows of f32 with the row length of `tensor`.
ScratchNeed row_scratch(const ScratchQuery& query, Tensor tensor, uint64_t rows);
// Floats between row buffers, so that each starts at a cache line.
inline int64_t row_pitch(int64_t length) { return align_up<int64_t>(length, 16); }

}  // namespace heed::cpu

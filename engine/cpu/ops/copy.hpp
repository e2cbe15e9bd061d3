// Copies of any element type between strided layouts.
#pragma once

#include <cstring>

#include "cpu/ops/rows.hpp"

namespace heed::cpu {

template <class T>
void copy_strided(const T* from, int64_t from_stride, T* to, int64_t to_stride, int64_t n) {
  if (from_stride == 1 && to_stride == 1) {
    std::memmove(to, from, static_cast<size_t>(n) * sizeof(T));
    return;
  }
  for (int64_t i = 0; i < n; ++i) to[i * to_stride] = from[i * from_stride];
}

// Copies n elements of equal dtype, bit for bit.
inline void copy_elements(const Operand& from, int64_t from_offset, int64_t from_stride, const Operand& to,
                          int64_t to_offset, int64_t to_stride, int64_t n) {
  switch (size_of(to.view.dtype)) {
    case 4:
      return copy_strided(from.at<const uint32_t>(from_offset), from_stride, to.at<uint32_t>(to_offset), to_stride, n);
    case 2:
      return copy_strided(from.at<const uint16_t>(from_offset), from_stride, to.at<uint16_t>(to_offset), to_stride, n);
    default:
      return copy_strided(from.at<const uint8_t>(from_offset), from_stride, to.at<uint8_t>(to_offset), to_stride, n);
  }
}

}  // namespace heed::cpu

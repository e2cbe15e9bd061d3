// What layernorm, rmsnorm and l2_normalize share: x or x + residual as f32 rows.
#pragma once

#include "cpu/rows.hpp"

namespace heed::cpu {

// Row r of x, plus that of the residual if there is one, in `row`. `other` is a buffer of the same length.
inline void load_sum(const Operand& x, const Operand& residual, int64_t r, float* row, float* other) {
  const int64_t n = row_length(x.view);
  load_copy(x, row_offset(x.view, r), row_stride(x.view), n, row);
  if (!residual.valid()) return;
  const float* add = load_row(residual, r, other);
  for (int64_t i = 0; i < n; ++i) row[i] += add[i];
}

// A parameter vector [C] as f32, in place or in `buffer`; null if absent.
inline const float* load_vector(const Operand& x, float* buffer) {
  return x.valid() ? load(x, 0, row_stride(x.view), row_length(x.view), buffer) : nullptr;
}

}  // namespace heed::cpu

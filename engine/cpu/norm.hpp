// What layernorm and rmsnorm share.
#pragma once

#include "cpu/rows.hpp"

namespace heed::cpu {

// A parameter vector [C] as f32, in place or in `buffer`; null if absent.
inline const float* load_vector(const Operand& x, float* buffer) {
  return x.valid() ? load(x, 0, row_stride(x.view), row_length(x.view), buffer) : nullptr;
}

}  // namespace heed::cpu

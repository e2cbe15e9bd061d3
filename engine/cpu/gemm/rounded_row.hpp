// Rows of a rounded to 8 bits, for matmuls with integer sums.
#pragma once

#include <cstdint>

namespace heed::cpu {

// 32 neighbours of a row: scale * bytes[i], where the largest magnitude is 127 * scale. If a value is infinite or NaN the scale is NaN, and
// so are all results.
struct RoundedBlock {
  static constexpr int kElements = 32, kHalf = 16;
  int8_t bytes[kElements];
  float scale;
  int32_t sums[2];  // sum of the bytes in each half
  int32_t unused;
};
static_assert(sizeof(RoundedBlock) == 48);

}  // namespace heed::cpu

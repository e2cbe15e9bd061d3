// Rows of a that were rounded to 8 bits, for products whose sums are whole numbers.
#pragma once

#include <cstdint>

namespace heed::cpu {

// 32 neighbours of a row: scale * bytes[i], where the largest magnitude is 127 * scale. Where the row has a value that is
// infinite or NaN the scale is NaN, and so is all that comes of it.
struct RoundedBlock {
  static constexpr int kElements = 32, kHalf = 16;
  int8_t bytes[kElements];
  float scale;
  int32_t sums[2];  // of the bytes of each half
  int32_t unused;
};
static_assert(sizeof(RoundedBlock) == 48);

}  // namespace heed::cpu

// Attention cases for devices whose properties tests change.
#pragma once

#include "harness/trial.hpp"

namespace heed::ops {

// 150 queries in each of 2 x 2 heads, up to 150 keys, and every way to hide keys. No tensor exceeds kLargestOfBlocks bytes.
std::vector<Case> attention_over_blocks();
inline constexpr uint64_t kLargestOfBlocks = 2 * 2 * 150 * 20 * 4;

}  // namespace heed::ops

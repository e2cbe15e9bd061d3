// Cases of attention for devices that tests change.
#pragma once

#include "harness/trial.hpp"

namespace heed::ops {

// 150 queries of each of 2 x 2 heads, up to 150 keys, and all that hides keys. No tensor has more than kLargestOfBlocks bytes.
std::vector<Case> attention_over_blocks();
inline constexpr uint64_t kLargestOfBlocks = 2 * 2 * 150 * 20 * 4;

}  // namespace heed::ops

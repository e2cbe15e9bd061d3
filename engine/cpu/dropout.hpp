// The dropout rule on one row; shared by dropout and matmul's epilogue.
#pragma once

#include <cstdint>

#include "base/philox.hpp"

namespace heed::cpu {

struct DropoutRule {
  DropoutWords words;
  uint32_t seed = 0;
  uint32_t stream = 0;
};

// row[i] is element `first + i` of the tensor, counted row-major over its shape of this run.
inline void apply_dropout(const DropoutRule& rule, uint64_t first, float* row, int64_t n) {
  int64_t i = 0;
  while (i < n) {
    // One Philox block gives the words of four consecutive elements.
    const uint64_t index = first + static_cast<uint64_t>(i);
    const uint64_t block = index / 4;
    const auto words = philox4x32_10({static_cast<uint32_t>(block), static_cast<uint32_t>(block >> 32), 0, 0},
                                     {rule.seed, rule.stream});
    for (uint64_t lane = index % 4; lane < 4 && i < n; ++lane, ++i)
      row[i] = words[lane] < rule.words.threshold ? 0.0f : row[i] * rule.words.keep_scale;
  }
}

}  // namespace heed::cpu

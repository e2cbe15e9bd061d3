// The bytes of one quantized block in the order in which the CPU's tiles read them. The size is that in the file.
//
// In a file, four bits of an element share a byte with those of the element 16, 32 or 64 positions later. Here 8 neighbours along k share a
// word of 32 bits, the first in the lowest bits, so that a shift extracts each without widening bytes. Fifth bits of 32 neighbours share a
// word, and so do the two upper bits of 16 neighbours in Q6_K. Signed bytes of Q8_0 have 128 added, so that they are unsigned.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include <heed/types.hpp>

namespace heed::cpu {

inline constexpr int64_t kMostBlockBytes = 256;

// Consecutive numbers of `bytes` bytes each. A panel stores each number of all columns together.
struct BlockRun {
  int bytes = 0, count = 0;
};
// The layout of a block, from its first byte on; unused runs at the end are empty.
//
//   clang-format off
//   Q8_0   d, 8 words of 4 bytes         Q4_K   d, e, 12 bytes of pairs, 32 words
//   Q4_0   d, 4 words                    Q5_K   d, e, 12 bytes of pairs, 8 words of fifth bits, 32 words
//   Q4_1   d, m, 4 words                 Q6_K   32 words, 16 words of two bits, 16 signed bytes, d
//   Q5_0   d, fifth bits, 4 words
//   Q5_1   d, m, fifth bits, 4 words
//   clang-format on
using BlockRuns = std::array<BlockRun, 4>;
constexpr BlockRuns runs_of(DType type) {
  switch (type) {
    case DType::Q8_0: return {{{2, 1}, {4, 8}}};
    case DType::Q4_0: return {{{2, 1}, {4, 4}}};
    case DType::Q4_1: return {{{2, 2}, {4, 4}}};
    case DType::Q5_0: return {{{2, 1}, {4, 5}}};
    case DType::Q5_1: return {{{2, 2}, {4, 5}}};
    case DType::Q4_K: return {{{2, 2}, {1, 12}, {4, 32}}};
    case DType::Q5_K: return {{{2, 2}, {1, 12}, {4, 40}}};
    case DType::Q6_K: return {{{4, 48}, {1, 16}, {2, 1}}};
    default: return {};
  }
}

// Converts between both layouts. Blocks have block_of(type).bytes, and any alignment.
void to_words(DType type, const std::byte* file, std::byte* words);
void from_words(DType type, const std::byte* words, std::byte* file);

}  // namespace heed::cpu

// Blocks of quantized types (DType::Q8_0 and on) as GGUF files hold them, and their values.
//
// Bytes of a block, in this order; all numbers of 16 bits are f16 and little-endian:
//
//   clang-format off
//   Q8_0   scale d, then 32 signed bytes q:              d * q
//   Q4_0   d, then 32 times 4 bits:                      d * (q - 8)
//   Q4_1   d, offset m, then 32 times 4 bits:            d * q + m
//   Q5_0   d, 32 fifth bits, then 32 times 4 bits:       d * (q - 16)
//   Q5_1   d, m, 32 fifth bits, then 32 times 4 bits:    d * q + m
//   Q4_K   d, e, 8 pairs (s, t) of 6 bits in 12 bytes, then 256 times 4 bits; element i has pair i / 32:
//                                                        d * s * q - e * t
//   Q5_K   d, e, 8 pairs, 256 fifth bits, then 256 times 4 bits: the same
//   Q6_K   256 times 4 bits, 256 times 2 bits above them, 16 signed bytes s, d; element i has scale i / 16:
//                                                        d * s * (q - 32)
//   clang-format on
//
// Every product is exact in f32, so that each value is rounded once, by its sum, with or without fused multiply-adds.
#pragma once

#include <cstddef>
#include <cstdint>

#include <heed/types.hpp>

namespace heed {

// Dequantizes `count` blocks, bit for bit like gguf.quants.dequantize. `blocks` may have any alignment.
void widen_blocks(DType type, const std::byte* blocks, int64_t count, float* values);

// Pair i < 8 of the packed 6-bit scales and minimums in the 12 bytes of Q4_K and Q5_K. Bits 0 to 5 of pairs 0 to 3 are in one byte each;
// the two upper bits of these bytes are the upper ones of pairs 4 to 7, whose lower four bits share a byte.
struct SixBitPair {
  uint8_t scale, offset;
};
constexpr SixBitPair six_bit_pair(const uint8_t* bytes, int i) {
  if (i < 4) return {static_cast<uint8_t>(bytes[i] & 63), static_cast<uint8_t>(bytes[i + 4] & 63)};
  return {static_cast<uint8_t>((bytes[i + 4] & 15) | ((bytes[i - 4] >> 6) << 4)),
          static_cast<uint8_t>((bytes[i + 4] >> 4) | ((bytes[i] >> 6) << 4))};
}

}  // namespace heed

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
// Every product here is exact in f32, so that the one sum of a value rounds it once, with or without fused multiply-adds.
#pragma once

#include <cstddef>
#include <cstdint>

#include <heed/types.hpp>

namespace heed {

// Writes the values of `count` blocks of a quantized type, bit for bit those of gguf.quants.dequantize. `blocks` may have any
// alignment.
void widen_blocks(DType type, const std::byte* blocks, int64_t count, float* values);

// Pair i < 8 of the 12 bytes that Q4_K and Q5_K hold them in: bits 0 to 5 of pairs 0 to 3 lie in one byte each, and its two upper
// bits are the upper ones of pairs 4 to 7, whose lower four bits share a byte.
struct SixBitPair {
  uint8_t scale, offset;
};
constexpr SixBitPair six_bit_pair(const uint8_t* bytes, int i) {
  if (i < 4) return {static_cast<uint8_t>(bytes[i] & 63), static_cast<uint8_t>(bytes[i + 4] & 63)};
  return {static_cast<uint8_t>((bytes[i + 4] & 15) | ((bytes[i - 4] >> 6) << 4)),
          static_cast<uint8_t>((bytes[i + 4] >> 4) | ((bytes[i] >> 6) << 4))};
}

}  // namespace heed

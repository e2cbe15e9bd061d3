#include "base/blocks.hpp"

#include "base/half.hpp"

namespace heed {
namespace {

float f16_at(const uint8_t* bytes) { return half_to_float(static_cast<uint16_t>(bytes[0] | bytes[1] << 8)); }

// The i-th of 32 numbers of 4 bits: the lower halves of 16 bytes, then the upper ones.
int nibble(const uint8_t* bytes, int i) { return i < 16 ? bytes[i] & 15 : bytes[i - 16] >> 4; }
int bit(const uint8_t* bytes, int i) { return bytes[i / 8] >> (i % 8) & 1; }

void widen_q8_0(const uint8_t* block, float* values) {
  const float scale = f16_at(block);
  for (int i = 0; i < 32; ++i) values[i] = scale * static_cast<float>(static_cast<int8_t>(block[2 + i]));
}

void widen_q4_0(const uint8_t* block, float* values) {
  const float scale = f16_at(block);
  for (int i = 0; i < 32; ++i) values[i] = scale * static_cast<float>(nibble(block + 2, i) - 8);
}

void widen_q4_1(const uint8_t* block, float* values) {
  const float scale = f16_at(block), offset = f16_at(block + 2);
  for (int i = 0; i < 32; ++i) values[i] = scale * static_cast<float>(nibble(block + 4, i)) + offset;
}

void widen_q5_0(const uint8_t* block, float* values) {
  const float scale = f16_at(block);
  for (int i = 0; i < 32; ++i)
    values[i] = scale * static_cast<float>((nibble(block + 6, i) | bit(block + 2, i) << 4) - 16);
}

void widen_q5_1(const uint8_t* block, float* values) {
  const float scale = f16_at(block), offset = f16_at(block + 2);
  for (int i = 0; i < 32; ++i)
    values[i] = scale * static_cast<float>(nibble(block + 8, i) | bit(block + 4, i) << 4) + offset;
}

// Each 32 bytes of `low` hold the lower four bits of 32 elements in their lower halves, and of the next 32 in their upper halves. Bit i /
// 32 of fifths[i % 32] belongs to element i.
void widen_pairs(const uint8_t* block, const uint8_t* fifths, const uint8_t* low, float* values) {
  const float scale = f16_at(block), offset = f16_at(block + 2);
  for (int i = 0; i < 256; ++i) {
    const SixBitPair pair = six_bit_pair(block + 4, i / 32);
    const int four = low[i / 64 * 32 + i % 32] >> (i / 32 % 2 * 4) & 15;
    const int q = fifths == nullptr ? four : four | (fifths[i % 32] >> (i / 32) & 1) << 4;
    values[i] =
        scale * static_cast<float>(pair.scale) * static_cast<float>(q) - offset * static_cast<float>(pair.offset);
  }
}

void widen_q4_k(const uint8_t* block, float* values) { widen_pairs(block, nullptr, block + 16, values); }
void widen_q5_k(const uint8_t* block, float* values) { widen_pairs(block, block + 16, block + 48, values); }

// Each 64 bytes of `low` hold the lower four bits of 64 elements in their lower halves, and of the next 64 in their upper halves; each 32
// bytes of `high` hold two bits for each of 4 x 32 elements.
void widen_q6_k(const uint8_t* block, float* values) {
  const uint8_t *low = block, *high = block + 128, *scales = block + 192;
  const float scale = f16_at(block + 208);
  for (int i = 0; i < 256; ++i) {
    const int four = low[i / 128 * 64 + i % 64] >> (i / 64 % 2 * 4) & 15;
    const int two = high[i / 128 * 32 + i % 32] >> (i / 32 % 4 * 2) & 3;
    values[i] =
        scale * static_cast<float>(static_cast<int8_t>(scales[i / 16])) * static_cast<float>((four | two << 4) - 32);
  }
}

using Widen = void (*)(const uint8_t* block, float* values);
Widen widen_of(DType type) {
  switch (type) {
    case DType::Q8_0: return widen_q8_0;
    case DType::Q4_0: return widen_q4_0;
    case DType::Q4_1: return widen_q4_1;
    case DType::Q5_0: return widen_q5_0;
    case DType::Q5_1: return widen_q5_1;
    case DType::Q4_K: return widen_q4_k;
    case DType::Q5_K: return widen_q5_k;
    case DType::Q6_K: return widen_q6_k;
    default: return nullptr;
  }
}

}  // namespace

void widen_blocks(DType type, const std::byte* blocks, int64_t count, float* values) {
  const Widen widen = widen_of(type);
  const TypeBlock block = block_of(type);
  const auto* bytes = reinterpret_cast<const uint8_t*>(blocks);
  for (int64_t i = 0; i < count && widen != nullptr; ++i) widen(bytes + i * block.bytes, values + i * block.elements);
}

}  // namespace heed

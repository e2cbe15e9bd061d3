#include "cpu/gemm/block_words.hpp"

#include <cstring>

namespace heed::cpu {
namespace {

// The positions of a type's bits in a block; they are the same in the file and in words.
struct Places {
  int four = 0;        // offset of the bytes with four bits of two elements each
  int bytes = 0;       // number of these bytes
  int apart = 0;       // distance of the two elements in a byte
  int upper = 0;       // offset of the upper bits
  int upper_bits = 0;  // upper bits of an element; 0: none
};
Places places_of(DType type) {
  switch (type) {
    case DType::Q4_0: return {2, 16, 16};
    case DType::Q4_1: return {4, 16, 16};
    case DType::Q5_0: return {6, 16, 16};  // its fifth bits already form a word
    case DType::Q5_1: return {8, 16, 16};
    case DType::Q4_K: return {16, 128, 32};
    case DType::Q5_K: return {48, 128, 32, 16, 1};
    case DType::Q6_K: return {0, 128, 64, 128, 2};
    default: return {};
  }
}

// The lower four bits of each byte, packed.
uint32_t gather(uint64_t bytes) {
  bytes &= 0x0f0f0f0f0f0f0f0fu;
  bytes = (bytes | bytes >> 4) & 0x00ff00ff00ff00ffu;
  bytes = (bytes | bytes >> 8) & 0x0000ffff0000ffffu;
  return static_cast<uint32_t>(bytes | bytes >> 16);
}
uint64_t scatter(uint32_t word) {
  uint64_t bytes = word;
  bytes = (bytes | bytes << 16) & 0x0000ffff0000ffffu;
  bytes = (bytes | bytes << 8) & 0x00ff00ff00ff00ffu;
  return (bytes | bytes << 4) & 0x0f0f0f0f0f0f0f0fu;
}

// Adds 128 to 32 bytes, or subtracts it again.
void flip_signs(std::byte* bytes) {
  for (int i = 0; i < 32; ++i) bytes[i] ^= std::byte{0x80};
}

// The byte and bit of the upper bits of element i in a file: element i % 32 of 32 bytes, each of which has the bits of all elements at a
// distance of 32.
struct UpperPlace {
  int byte, shift;
};
UpperPlace upper_place(int i, int bits) {
  const int per_byte = 8 / bits;
  return {i / (32 * per_byte) * 32 + i % 32, i / 32 % per_byte * bits};
}

int bits_at(const std::byte* bytes, UpperPlace at, int bits) {
  return std::to_integer<int>(bytes[at.byte]) >> at.shift & ((1 << bits) - 1);
}
void put_bits(std::byte* bytes, UpperPlace at, int value) {
  bytes[at.byte] |= static_cast<std::byte>(value << at.shift);
}
// The same for element i in little-endian words of 32 bits.
UpperPlace word_place(int i, int bits) { return {i * bits / 8, i * bits % 8}; }

}  // namespace

void to_words(DType type, const std::byte* file, std::byte* words) {
  const Places at = places_of(type);
  std::memcpy(words, file, static_cast<size_t>(block_of(type).bytes));
  if (type == DType::Q8_0) return flip_signs(words + 2);
  // The lower halves of each group of `apart` bytes come first, then its upper halves.
  for (int group = 0; group < at.bytes; group += at.apart)
    for (int i = 0; i < at.apart; i += 8) {
      uint64_t bytes;
      std::memcpy(&bytes, file + at.four + group + i, sizeof bytes);
      const uint32_t lower = gather(bytes), upper = gather(bytes >> 4);
      std::memcpy(words + at.four + group + i / 2, &lower, sizeof lower);
      std::memcpy(words + at.four + group + (at.apart + i) / 2, &upper, sizeof upper);
    }
  if (at.upper_bits == 0) return;
  std::memset(words + at.upper, 0, static_cast<size_t>(256 * at.upper_bits / 8));
  for (int i = 0; i < 256; ++i)
    put_bits(words + at.upper, word_place(i, at.upper_bits),
             bits_at(file + at.upper, upper_place(i, at.upper_bits), at.upper_bits));
}

void from_words(DType type, const std::byte* words, std::byte* file) {
  const Places at = places_of(type);
  std::memcpy(file, words, static_cast<size_t>(block_of(type).bytes));
  if (type == DType::Q8_0) return flip_signs(file + 2);
  for (int group = 0; group < at.bytes; group += at.apart)
    for (int i = 0; i < at.apart; i += 8) {
      uint32_t lower, upper;
      std::memcpy(&lower, words + at.four + group + i / 2, sizeof lower);
      std::memcpy(&upper, words + at.four + group + (at.apart + i) / 2, sizeof upper);
      const uint64_t bytes = scatter(lower) | scatter(upper) << 4;
      std::memcpy(file + at.four + group + i, &bytes, sizeof bytes);
    }
  if (at.upper_bits == 0) return;
  std::memset(file + at.upper, 0, static_cast<size_t>(256 * at.upper_bits / 8));
  for (int i = 0; i < 256; ++i)
    put_bits(file + at.upper, upper_place(i, at.upper_bits),
             bits_at(words + at.upper, word_place(i, at.upper_bits), at.upper_bits));
}

}  // namespace heed::cpu

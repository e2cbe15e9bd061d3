// Philox4x32-10 (Salmon, Moraes, Dror, Shaw: "Parallel random numbers: as easy as 1, 2, 3", SC 2011). shaders/shared/philox.glsl has the
// same function; the dropout rule below applies to both.
#pragma once

#include <array>
#include <cstdint>

#include "base/float_environment.hpp"

namespace heed {

inline std::array<uint32_t, 4> philox4x32_10(std::array<uint32_t, 4> counter, std::array<uint32_t, 2> key) {
  for (int round = 0; round < 10; ++round) {
    const uint64_t a = uint64_t{0xD2511F53u} * counter[0];
    const uint64_t b = uint64_t{0xCD9E8D57u} * counter[2];
    counter = {static_cast<uint32_t>(b >> 32) ^ counter[1] ^ key[0], static_cast<uint32_t>(b),
               static_cast<uint32_t>(a >> 32) ^ counter[3] ^ key[1], static_cast<uint32_t>(a)};
    key[0] += 0x9E3779B9u;
    key[1] += 0xBB67AE85u;
  }
  return counter;
}

// The constants of a dropout of probability p. An element is dropped if its random word is below `threshold`; kept values
// are multiplied by `keep_scale`.
struct DropoutWords {
  uint32_t threshold = 0;   // p * 2^32, rounded
  float keep_scale = 1.0f;  // 1 / (1 - p)
};
inline DropoutWords dropout_words(float p) {
  const UsualFloats floats;
  const volatile double given = p;  // volatile keeps the compiler from moving the arithmetic out of the scope of
                                    // `floats`
  const volatile uint32_t threshold = static_cast<uint32_t>(given * 4294967296.0 + 0.5);
  const volatile float keep_scale = static_cast<float>(1.0 / (1.0 - given));
  return {threshold, keep_scale};
}

// The random word of element `index` (row-major over the tensor's shape of this run).
inline uint32_t dropout_bits(uint32_t seed, uint32_t stream, uint64_t index) {
  const uint64_t block = index / 4;
  return philox4x32_10({static_cast<uint32_t>(block), static_cast<uint32_t>(block >> 32), 0, 0},
                       {seed, stream})[index % 4];
}

}  // namespace heed

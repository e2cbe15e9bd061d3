// The arithmetic of Graph::sample, bit for bit the same as in shaders/sample.comp: integers, and single f32 operations that IEEE 754 rounds
// alike everywhere.
#pragma once

#include <bit>
#include <cstdint>

#include "base/philox.hpp"

namespace heed {

// A row of settings as kernels read it; shaders/shared/sample.h has the same words. Any bits have a defined result.
struct SampleSettings {
  float rate = 0;      // halvings of the weight per unit of half the distance; 0: take the first token in order
  float reach = 0;     // weights are 0 from this half distance on
  uint32_t top_k = 0;  // 0: all
  uint32_t top_p = 0;  // times 2^32; 2^32 - 1: all
  uint32_t min_p = 0;  // the least weight that is kept
  float penalty = 1;   // factor of logits <= 0
  float inverse = 1;   // factor of other logits
  uint32_t unused = 0;

  bool is_greedy() const { return std::bit_cast<uint32_t>(rate) == 0; }
};

namespace sampling {

inline constexpr uint32_t kLargestWeight = 0x80000000u, kInfiniteKey = 0xff800000u;
inline constexpr float kHalvings = 32.0f;  // after which a weight is 0

// An unsigned number that orders like the values; 0 for NaN and minus infinity. Magnitudes up to 2^-126 count as 0, since devices may flush
// smaller ones, or round them up to that.
inline uint32_t key_of(float value) {
  const auto bits = std::bit_cast<uint32_t>(value), magnitude = bits & 0x7fffffffu;
  if (magnitude > 0x7f800000u || bits == 0xff800000u) return 0;
  if (magnitude <= 0x00800000u) return 0x80000000u;
  return (bits & 0x80000000u) != 0 ? ~bits : bits | 0x80000000u;
}
inline float value_of(uint32_t key) {
  return std::bit_cast<float>((key & 0x80000000u) != 0 ? key & 0x7fffffffu : ~key);
}

// The key of an earlier token after the repetition penalty.
inline uint32_t penalized(uint32_t key, const SampleSettings& settings) {
  if (key == 0 || key == kInfiniteKey) return key;
  const float value = value_of(key);
  return key_of(value > 0.0f ? value * settings.inverse : value * settings.penalty);
}

// The key of the sum of a logit and its bias.
inline uint32_t biased(uint32_t key, float bias) {
  const uint32_t added = key_of(bias);
  if (key == 0 || added == 0) return 0;
  if (key == kInfiniteKey || added == kInfiniteKey) return kInfiniteKey;
  return key_of(value_of(key) + value_of(added));
}

inline uint32_t high_word(uint32_t a, uint32_t b) { return static_cast<uint32_t>(uint64_t{a} * b >> 32); }

// 2^31 * 2^-halvings, where the argument is halvings * 2^24. 2^-x is 1 - x (c1 - x (c2 - ...)), with an error of at most 2^-27, for x from
// 0 to 1.
inline uint32_t power_of(uint32_t halvings) {
  const uint32_t whole = halvings >> 24, x = halvings << 8;
  uint32_t power = 0x0003961au;
  for (const uint32_t c : {0x0029da51u, 0x013a0970u, 0x071a6df4u, 0x1ebfb487u, 0x58b90bccu, kLargestWeight})
    power = c - high_word(power, x);
  return whole == 0 ? power : (power + (1u << (whole - 1))) >> whole;
}

// The weight of a token relative to one with the largest key.
inline uint32_t weight_of(uint32_t key, uint32_t largest, const SampleSettings& settings) {
  if (key == 0) return 0;
  if (key == largest) return kLargestWeight;
  if (largest == kInfiniteKey) return 0;
  const auto is_below = [](float a, float b) { return std::bit_cast<uint32_t>(a) < std::bit_cast<uint32_t>(b); };
  const float distance = 0.5f * value_of(largest) - 0.5f * value_of(key);  // halved, so that no difference overflows
  if (!is_below(distance, settings.reach)) return 0;
  const float halvings = distance * settings.rate;
  return is_below(halvings, kHalvings) ? power_of(static_cast<uint32_t>(halvings * 0x1p24f)) : 0;
}

// floor(a * b / 2^32) for a < 2^63, minus one if the quotient is exact: an integer sum greater than this is at least a * b / 2^32.
inline uint64_t less_than_share(uint64_t a, uint32_t b) {
  const uint64_t low = (a & 0xffffffffu) * b, high = (a >> 32) * b + (low >> 32);
  return high - (static_cast<uint32_t>(low) == 0 && high > 0);
}
// floor(a * b / 2^64).
inline uint64_t share_of(uint64_t a, uint64_t b) {
  const uint64_t a0 = a & 0xffffffffu, a1 = a >> 32, b0 = b & 0xffffffffu, b1 = b >> 32;
  const uint64_t middle = (a0 * b0 >> 32) + (a0 * b1 & 0xffffffffu) + (a1 * b0 & 0xffffffffu);
  return a1 * b1 + (a0 * b1 >> 32) + (a1 * b0 >> 32) + (middle >> 32);
}

// A random 64-bit fraction. The last word of the counter distinguishes it from dropout.
inline uint64_t random_share(uint32_t seed, uint32_t stream, uint32_t step, uint32_t row) {
  const auto words = philox4x32_10({step, row, 0, 1}, {seed, stream});
  return uint64_t{words[0]} << 32 | words[1];
}

}  // namespace sampling
}  // namespace heed

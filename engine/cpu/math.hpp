// Arithmetic on rows of f32, in loops that compilers turn into vector code without loosened floating point.
#pragma once

#include <bit>
#include <cstdint>
#include <heed/graph.hpp>

namespace heed::cpu {

// e^x for x <= 0, relative error below 2 ulp; 0 below -87.3, where e^x leaves the normal floats. NaN stays
// NaN. x = n ln2 + r with |r| <= ln2 / 2; e^r by its Taylor series to r^7, whose next term is below 6e-9.
inline float exp_of_negative(float x) {
  constexpr float kRounder = 12582912.0f;  // 1.5 * 2^23: adding it rounds to an integer, kept in the low bits
  const float shifted = x * 1.44269504f + kRounder;
  const float n = shifted - kRounder;
  const float r =
      (x - n * 0.693359375f) - n * -2.12194440e-4f;  // ln2 in two parts, the first exact in 9 bits
  float e = 1.0f / 5040.0f;
  e = e * r + 1.0f / 720.0f;
  e = e * r + 1.0f / 120.0f;
  e = e * r + 1.0f / 24.0f;
  e = e * r + 1.0f / 6.0f;
  e = e * r + 0.5f;
  e = e * r + 1.0f;
  e = e * r + 1.0f;
  const float power = std::bit_cast<float>((std::bit_cast<uint32_t>(shifted) << 23) + 0x3f800000u);
  return x < -87.3f ? 0.0f : e * power;
}

// Sums use eight partial sums in double: exact enough for any row length, and in a fixed order.
double sum(const float* x, int64_t n);
double sum_of_squares(const float* x, int64_t n);
// The largest element; NaN elements are passed over. -infinity for an empty row.
float largest(const float* x, int64_t n);

float activate(Activation kind, float x);
void activate(Activation kind, float* row, int64_t n);

}  // namespace heed::cpu

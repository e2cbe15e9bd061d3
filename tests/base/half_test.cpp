#include "base/half.hpp"

#include <bit>

#include "harness/catch.hpp"

namespace heed {
namespace {

// The value of a 16-bit float with `mantissa_bits`, by definition.
double value_of(uint16_t bits, int mantissa_bits) {
  const int exponent_bits = 15 - mantissa_bits, bias = (1 << (exponent_bits - 1)) - 1;
  const int exponent = (bits >> mantissa_bits) & ((1 << exponent_bits) - 1),
            mantissa = bits & ((1 << mantissa_bits) - 1);
  double magnitude;
  if (exponent == (1 << exponent_bits) - 1)
    magnitude = mantissa == 0 ? std::numeric_limits<double>::infinity() : std::numeric_limits<double>::quiet_NaN();
  else if (exponent == 0)
    magnitude = std::ldexp(mantissa, 1 - bias - mantissa_bits);
  else
    magnitude = std::ldexp((1 << mantissa_bits) + mantissa, exponent - bias - mantissa_bits);
  return (bits & 0x8000) != 0 ? -magnitude : magnitude;
}

// The nearest value, ties to the even mantissa. Infinity counts as the next power of two after the largest value.
uint16_t nearest(double x, int mantissa_bits) {
  const uint16_t sign = std::signbit(x) ? 0x8000 : 0;
  const double magnitude = std::abs(x);
  const auto infinity = static_cast<uint16_t>(0x7fff & ~((1 << mantissa_bits) - 1));
  // Bit patterns of non-negative values are ordered like the values.
  uint16_t low = 0, high = infinity;
  while (high - low > 1) {
    const auto middle = static_cast<uint16_t>((low + high) / 2);
    (value_of(middle, mantissa_bits) <= magnitude ? low : high) = middle;
  }
  const double next = high == infinity
                          ? 2.0 * value_of(static_cast<uint16_t>(infinity - (1 << mantissa_bits)), mantissa_bits)
                          : value_of(high, mantissa_bits);
  const double below = magnitude - value_of(low, mantissa_bits), above = next - magnitude;
  const bool up = magnitude >= next || above < below || (above == below && (low & 1) != 0);
  return static_cast<uint16_t>(sign | (up ? high : low));
}

// Floats of every exponent, with mantissas at and next to all rounding boundaries of both 16-bit types.
std::vector<float> awkward_floats() {
  std::vector<float> floats;
  for (uint32_t exponent = 0; exponent < 255; ++exponent) {
    for (uint32_t step = 0; step < 256; ++step) {
      for (const uint32_t offset : {0u, 1u, 0xfffu, 0x1000u, 0x1001u, 0x7fffu, 0x8000u, 0x8001u}) {
        const uint32_t mantissa = ((step << 15) + offset) & 0x7fffffu;
        floats.push_back(std::bit_cast<float>(exponent << 23 | mantissa));
      }
    }
  }
  return floats;
}

}  // namespace

TEST_CASE("every half has its value as a float and returns from it", "[base]") {
  int wrong = 0;
  for (uint32_t i = 0; i < 0x10000; ++i) {
    const auto bits = static_cast<uint16_t>(i);
    const float f = half_to_float(bits);
    const double expected = value_of(bits, 10);
    if (std::isnan(expected)) {
      wrong += !(std::isnan(f) && std::isnan(half_to_float(float_to_half(f))));
      continue;
    }
    wrong += !(static_cast<double>(f) == expected && std::signbit(f) == std::signbit(expected));
    wrong += float_to_half(f) != bits;
  }
  CHECK(wrong == 0);
}

TEST_CASE("every bfloat has its value as a float and returns from it", "[base]") {
  int wrong = 0;
  for (uint32_t i = 0; i < 0x10000; ++i) {
    const auto bits = static_cast<uint16_t>(i);
    const float f = bfloat_to_float(bits);
    const double expected = value_of(bits, 7);
    if (std::isnan(expected)) {
      wrong += !(std::isnan(f) && std::isnan(bfloat_to_float(float_to_bfloat(f))));
      continue;
    }
    wrong += !(static_cast<double>(f) == expected && std::signbit(f) == std::signbit(expected));
    wrong += float_to_bfloat(f) != bits;
  }
  CHECK(wrong == 0);
}

TEST_CASE("floats round to the nearest half and bfloat, ties to even", "[base]") {
  int wrong_half = 0, wrong_bfloat = 0;
  for (const float magnitude : awkward_floats()) {
    for (const float f : {magnitude, -magnitude}) {
      wrong_half += float_to_half(f) != nearest(static_cast<double>(f), 10);
      wrong_bfloat += float_to_bfloat(f) != nearest(static_cast<double>(f), 7);
    }
  }
  CHECK(wrong_half == 0);
  CHECK(wrong_bfloat == 0);
  const float infinity = std::numeric_limits<float>::infinity();
  CHECK(float_to_half(infinity) == 0x7c00);
  CHECK(float_to_half(-infinity) == 0xfc00);
  CHECK(float_to_bfloat(infinity) == 0x7f80);
  CHECK(float_to_half(65519.0f) == 0x7bff);
  CHECK(float_to_half(65520.0f) == 0x7c00);
}

TEST_CASE("convert_floats goes between all types, without alignment", "[base]") {
  const std::array<float, 5> values = {1.0f, -2.5f, 0.0f, 96.0f, -0.125f};  // exact in all of them
  for (const DType from : {DType::F32, DType::F16, DType::BF16}) {
    for (const DType to : {DType::F32, DType::F16, DType::BF16}) {
      std::vector<std::byte> source(values.size() * size_of(from) + 1), target(values.size() * size_of(to) + 1);
      std::vector<float> back(values.size());
      convert_floats(values.data(), DType::F32, source.data() + 1, from, values.size());
      convert_floats(source.data() + 1, from, target.data() + 1, to, values.size());
      convert_floats(target.data() + 1, to, back.data(), DType::F32, values.size());
      INFO(to_string(from) << " to " << to_string(to));
      CHECK(std::equal(values.begin(), values.end(), back.begin()));
    }
  }
}

}  // namespace heed

// Elementwise functions of the canon.
#include <bit>
#include <cmath>
#include <limits>

#include "reproducible/oracle.hpp"

namespace heed::reproducible {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity(), kNan = std::numeric_limits<float>::quiet_NaN();

uint32_t bits_of(float x) { return std::bit_cast<uint32_t>(x); }
float of_bits(uint32_t bits) { return std::bit_cast<float>(bits); }
float upper_part(float x) { return of_bits(bits_of(x) & 0xfffff000u); }
float within(float x, float low, float high) { return x > high ? high : x < low ? low : x; }
int exponent_of(float x) { return static_cast<int>(bits_of(x) >> 23 & 255); }
// x with its exponent moved by k.
float times_power(float x, int k) { return of_bits(bits_of(x) + (static_cast<uint32_t>(k) << 23)); }

}  // namespace

float Oracle::quotient(float a, float b) const {
  const bool all_a = std::isinf(a), all_b = std::isinf(b);
  if (a != a || b != b || (a == 0.0f && b == 0.0f) || (all_a && all_b)) return kNan;
  const uint32_t sign = (bits_of(a) ^ bits_of(b)) & 0x80000000u;
  if (b == 0.0f || all_a) return of_bits(0x7f800000u | sign);
  if (a == 0.0f || all_b) return 0.0f;
  const float m = of_bits((bits_of(a) & 0x7fffffu) | 0x3f800000u), n = of_bits((bits_of(b) & 0x7fffffu) | 0x3f800000u);
  const float inverse = reciprocal(n);
  float q = m * inverse;
  const float qh = upper_part(q), ql = q - qh, nh = upper_part(n), nl = n - nh;
  float rest = m - qh * nh;
  rest = rest - qh * nl;
  rest = rest - ql * nh;
  rest = rest - ql * nl;
  q = multiply_add(rest, inverse, q);
  const int exponent = exponent_of(q) + exponent_of(a) - exponent_of(b);
  if (exponent > 254) return of_bits(0x7f800000u | sign);
  const float y = exponent < 1 ? 0.0f : of_bits((bits_of(q) & 0x7fffffu) | static_cast<uint32_t>(exponent) << 23);
  return of_bits(bits_of(flush(y)) | sign);
}

float Oracle::exact_root(float x) const {
  if (x == 0.0f || x == kInfinity) return x;
  if (x < 0.0f) return kNan;
  const int k = (exponent_of(x) - 127) >> 1;
  const float m = times_power(x, -2 * k), y = reciprocal_root(m), r = m * y;
  const float rh = upper_part(r), rl = r - rh, cross = rh * rl;
  float rest = m - rh * rh;
  rest = rest - (cross + cross) - rl * rl;
  return times_power(multiply_add(rest * 0.5f, y, r), k);
}

float Oracle::inverse_root(float x) const {
  if (x == 0.0f) return kInfinity;
  if (x < 0.0f) return kNan;
  if (x == kInfinity) return 0.0f;
  const int k = (exponent_of(x) - 127) >> 1;
  return times_power(reciprocal_root(times_power(x, -2 * k)), -k);
}

float Oracle::any_exp(float x) const {
  if (!(std::fabs(x) > 87.0f)) return exp(x);
  const float e = exp(x * 0.5f);
  return times(e, e);
}

float Oracle::any_log(float x) const {
  if (x <= -0x1p-126f) return kNan;
  if (std::fabs(x) < 0x1p-126f) return -kInfinity;
  return x == kInfinity ? x : log(x);
}

float Oracle::sigmoid(float x) const {
  if (x < -87.0f) return 0.0f;
  const float e = exp(-std::fabs(x)), whole = reciprocal(1.0f + e);
  return x < 0.0f ? times(e, whole) : whole;
}

float Oracle::softplus(float x) const {
  const float e = exp(-std::fabs(x)), sum = 1.0f + e, kept = sum - 1.0f;
  const float rest = kept == 0.0f ? e : times(log(sum), times(e, reciprocal(kept)));
  return (x < 0.0f ? 0.0f : x) + rest;
}

float Oracle::elu(float x, float alpha) const { return x <= 0.0f ? times(-one_less_power(x), alpha) : x; }

float Oracle::erf(float x) const {
  const float t = std::fabs(x) > 4.0f ? 4.0f : std::fabs(x), s = times(x, x);
  if (t < 0.87f) {
    float p = -6.09100505e-4f;
    for (const float c : {5.01210708e-3f, -2.67790258e-2f, 1.12821452e-1f, -3.76125246e-1f, 1.28379151e-1f})
      p = multiply_add(p, s, c);
    return times(p, x) + x;
  }
  float q = -2.00197901e-5f;
  for (const float c : {4.22199781e-4f, -4.11254866e-3f, 2.49679293e-2f, -1.08050108e-1f, -6.33551717e-1f, -1.12941575f,
                        1.54524692e-4f})
    q = multiply_add(q, t, c);
  const float far = 1.0f - exp(q);
  return x < 0.0f ? -far : far;
}

float Oracle::sine(float x, int quarters) const {
  if (std::isinf(x)) return kNan;
  const float bounded = within(x, -1.0e7f, 1.0e7f), n = std::floor(bounded * 0.636619747f + 0.5f);
  const float high = upper_part(n), low = n - high, first = 1.5703125f, second = 4.825592041015625e-4f;
  float r = bounded - high * first - low * first;
  r = r - high * second - low * second;
  r = within(r - n * 1.26759085e-6f, -1.0f, 1.0f);
  const float z = times(r, r);
  float s = multiply_add(z, -1.95172979e-4f, 8.332178e-3f);
  s = multiply_add(z, s, -1.66666552e-1f);
  s = times(times(r, z), s) + r;
  float c = multiply_add(z, 2.44384501e-5f, -1.38873677e-3f);
  c = multiply_add(z, c, 4.16666456e-2f);
  c = multiply_add(times(z, z), c, 1.0f - 0.5f * z);
  const int turn = static_cast<int>(n) + quarters;
  const float y = (turn & 1) != 0 ? c : s;
  return (turn & 2) != 0 ? -y : y;
}

float Oracle::modulo(float a, float b) const {
  if (a != a || b != b || std::isinf(a) || b == 0.0f) return kNan;
  if (std::isinf(b)) return a == 0.0f || (a < 0.0f) == (b < 0.0f) ? a : b;
  const float q = std::floor(quotient(a, b)), qh = upper_part(q), ql = q - qh, bh = upper_part(b), bl = b - bh;
  float r = a - times(qh, bh);
  r = r - times(qh, bl);
  r = r - times(ql, bh);
  r = flush(r - times(ql, bl));
  const bool is_large = std::fabs(a) >= std::fabs(b);
  if (b > 0.0f)
    r = r < 0.0f ? r + b : is_large && r >= b ? r - b : r;
  else
    r = r > 0.0f ? r + b : is_large && r <= b ? r - b : r;
  return flush(r);
}

float Oracle::positive_power(float a, float b) const {
  const auto [n, f, cubic] = log_parts(a);
  const float l = f + (cubic + f * f * -0.5f);
  const float bounded = within(b, -1.0e10f, 1.0e10f), bh = upper_part(bounded), bl = bounded - bh, p = bounded * n;
  const float lost = (bh * n - p) + bl * n, q = times(bounded, times(l, 1.44269504f));
  const float k = std::floor(within(p + q, -250.0f, 250.0f) + 0.5f);
  const float rest = within(((p - k) + q) + lost, -1.0f, 1.0f);
  const int all = static_cast<int>(k), half = all >> 1;
  return times(times_power(1.0f, half) * exp(rest * 0.693147181f), times_power(1.0f, all - half));
}

float Oracle::power(float a, float b) const {
  const float m = std::fabs(a);
  const bool below = b < 0.0f, is_whole = std::floor(b) == b;
  if (b == 0.0f || a == 1.0f) return 1.0f;
  if (a != a || b != b || (a < 0.0f && !is_whole && !std::isinf(m))) return kNan;
  float y = 0.0f;
  if (m < 0x1p-126f)
    y = below ? kInfinity : 0.0f;
  else if (std::isinf(m))
    y = below ? 0.0f : kInfinity;
  else if (std::isinf(b))
    y = m == 1.0f ? 1.0f : (m > 1.0f) != below ? kInfinity : 0.0f;
  else
    y = positive_power(m, b);
  const bool is_odd = is_whole && std::fabs(b) < 16777216.0f && (static_cast<int>(b) & 1) != 0;
  return is_odd && a < 0.0f ? -y : y;
}

}  // namespace heed::reproducible

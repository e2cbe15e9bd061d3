#include "cpu/math.hpp"

#include <cmath>
#include <limits>

namespace heed::cpu {
namespace {

constexpr int kLanes = 8;

double total(const double (&lanes)[kLanes]) {
  return ((lanes[0] + lanes[4]) + (lanes[1] + lanes[5])) + ((lanes[2] + lanes[6]) + (lanes[3] + lanes[7]));
}

float gelu_erf(float x) { return 0.5f * x * (1.0f + std::erf(x * 0.70710678f)); }
float gelu_tanh(float x) { return 0.5f * x * (1.0f + std::tanh(0.79788456f * (x + 0.044715f * x * x * x))); }
// x / (1 + e^-x); for x below -88 e^-x is infinite and the quotient 0, which is right to the last bit kept.
float silu(float x) { return x / (1.0f + std::exp(-x)); }

template <class F>
void map(float* row, int64_t n, F f) {
  for (int64_t i = 0; i < n; ++i) row[i] = f(row[i]);
}

}  // namespace

double sum(const float* x, int64_t n) {
  double lanes[kLanes] = {};
  int64_t i = 0;
  for (; i + kLanes <= n; i += kLanes)
    for (int l = 0; l < kLanes; ++l) lanes[l] += static_cast<double>(x[i + l]);
  for (; i < n; ++i) lanes[i % kLanes] += static_cast<double>(x[i]);
  return total(lanes);
}

double sum_of_squares(const float* x, int64_t n) {
  double lanes[kLanes] = {};
  int64_t i = 0;
  for (; i + kLanes <= n; i += kLanes)
    for (int l = 0; l < kLanes; ++l)
      lanes[l] += static_cast<double>(x[i + l]) * static_cast<double>(x[i + l]);
  for (; i < n; ++i) lanes[i % kLanes] += static_cast<double>(x[i]) * static_cast<double>(x[i]);
  return total(lanes);
}

float largest(const float* x, int64_t n) {
  float lanes[2 * kLanes];
  for (float& lane : lanes) lane = -std::numeric_limits<float>::infinity();
  int64_t i = 0;
  for (; i + 2 * kLanes <= n; i += 2 * kLanes)
    for (int l = 0; l < 2 * kLanes; ++l) lanes[l] = x[i + l] > lanes[l] ? x[i + l] : lanes[l];
  float m = lanes[0];
  for (const float lane : lanes) m = lane > m ? lane : m;
  for (; i < n; ++i) m = x[i] > m ? x[i] : m;
  return m;
}

float activate(Activation kind, float x) {
  switch (kind) {
    case Activation::None:
      return x;
    case Activation::Relu:
      return x > 0.0f ? x : (x != x ? x : 0.0f);
    case Activation::GeluErf:
      return gelu_erf(x);
    case Activation::GeluTanh:
      return gelu_tanh(x);
    case Activation::Silu:
      return silu(x);
    case Activation::Tanh:
      return std::tanh(x);
  }
  return x;
}

void activate(Activation kind, float* row, int64_t n) {
  switch (kind) {
    case Activation::None:
      return;
    case Activation::Relu:
      return map(row, n, [](float x) { return activate(Activation::Relu, x); });
    case Activation::GeluErf:
      return map(row, n, gelu_erf);
    case Activation::GeluTanh:
      return map(row, n, gelu_tanh);
    case Activation::Silu:
      return map(row, n, silu);
    case Activation::Tanh:
      return map(row, n, [](float x) { return std::tanh(x); });
  }
}

}  // namespace heed::cpu

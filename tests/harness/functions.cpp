#include "harness/functions.hpp"

#include <algorithm>
#include <cmath>

namespace heed::ops {
namespace {

double remainder_of(double a, double b) {
  const double r = std::fmod(a, b);
  return r != 0.0 && (r < 0.0) != (b < 0.0) ? r + b : r;
}
double sigmoid(double x) { return 1.0 / (1.0 + std::exp(-x)); }
double either_nan(double a, double b, double y) { return std::isnan(a) ? a : std::isnan(b) ? b : y; }
double clamped(double x, double low, double high) { return std::isnan(x) ? x : std::min(std::max(x, low), high); }

#define HEED_ONE(name) [](Graph& g, Tensor a, Tensor) { return g.name(a); }
#define HEED_TWO(name) [](Graph& g, Tensor a, Tensor b) { return g.name(a, b); }
constexpr double kAlpha = 0.75, kSlope = 0.125;  // f32 has NaN and infinities

constexpr FunctionReference kFunctions[] = {
    {"sub", 2, HEED_TWO(sub), [](double a, double b) { return a - b; }, -3, 3, 4, 6},
    {"div", 2, HEED_TWO(div), [](double a, double b) { return a / b; }, 0.5, 3},
    {"mod", 2, HEED_TWO(mod), remainder_of, 0.5, 30, 8, 4, false},
    {"minimum", 2, HEED_TWO(minimum), [](double a, double b) { return either_nan(a, b, std::min(a, b)); }, -3, 3},
    {"maximum", 2, HEED_TWO(maximum), [](double a, double b) { return either_nan(a, b, std::max(a, b)); }, -3, 3},
    {"pow", 2, HEED_TWO(pow), [](double a, double b) { return std::pow(a, b); }, 0.25, 4, 24},
    {"squared", 1, [](Graph& g, Tensor a, Tensor) { return g.pow(a, g.number(2)); },
     [](double a, double) { return a * a; }, -3, 3, 16},
    {"clamp", 1, [](Graph& g, Tensor a, Tensor) { return g.clamp(a, -1.5f, 2.0f); },
     [](double x, double) { return clamped(x, -1.5, 2.0); }, -4, 4},
    {"neg", 1, HEED_ONE(neg), [](double x, double) { return -x; }, -3, 3},
    {"abs", 1, HEED_ONE(abs), [](double x, double) { return std::abs(x); }, -3, 3},
    {"sign", 1, HEED_ONE(sign), [](double x, double) { return std::isnan(x) ? x : (x > 0) - (x < 0) + 0.0; }, -3, 3},
    {"reciprocal", 1, HEED_ONE(reciprocal), [](double x, double) { return 1.0 / x; }, 0.25, 4},
    {"sqrt", 1, HEED_ONE(sqrt), [](double x, double) { return std::sqrt(x); }, 0.25, 50},
    {"rsqrt", 1, HEED_ONE(rsqrt), [](double x, double) { return 1.0 / std::sqrt(x); }, 0.25, 50},
    {"exp", 1, HEED_ONE(exp), [](double x, double) { return std::exp(x); }, -4, 4, 32},
    {"log", 1, HEED_ONE(log), [](double x, double) { return std::log(x); }, 0.25, 50, 8, 0.5},
    {"sin", 1, HEED_ONE(sin), [](double x, double) { return std::sin(x); }, -9, 9, 4, 1},
    {"cos", 1, HEED_ONE(cos), [](double x, double) { return std::cos(x); }, -9, 9, 4, 1},
    {"erf", 1, HEED_ONE(erf), [](double x, double) { return std::erf(x); }, -5, 5, 8, 0.5},
    {"sigmoid", 1, HEED_ONE(sigmoid), [](double x, double) { return sigmoid(x); }, -8, 8, 32},
    {"softplus", 1, HEED_ONE(softplus),
     [](double x, double) { return std::isnan(x) ? x : std::max(x, 0.0) + std::log1p(std::exp(-std::abs(x))); }, -8, 8,
     32},
    {"elu", 1, [](Graph& g, Tensor a, Tensor) { return g.elu(a, static_cast<float>(kAlpha)); },
     [](double x, double) { return x <= 0.0 ? kAlpha * std::expm1(x) : x; }, -6, 6, 16, 0.5},
    {"leaky_relu", 1, [](Graph& g, Tensor a, Tensor) { return g.leaky_relu(a, static_cast<float>(kSlope)); },
     [](double x, double) { return x > 0.0 ? x : kSlope * x; }, -6, 6},
    {"hard_sigmoid", 1, [](Graph& g, Tensor a, Tensor) { return g.hard_sigmoid(a, static_cast<float>(kSlope)); },
     [](double x, double) { return clamped(kSlope * x + 0.5, 0.0, 1.0); }, -6, 6, 4, 1},
    {"hard_swish", 1, HEED_ONE(hard_swish), [](double x, double) { return x * clamped(x / 6.0 + 0.5, 0.0, 1.0); }, -5,
     5, 8, 5},
    {"floor", 1, HEED_ONE(floor), [](double x, double) { return std::floor(x); }, -9, 9, 0},
    {"round", 1, HEED_ONE(round), [](double x, double) { return std::nearbyint(x); }, -9, 9, 0},
};

}  // namespace

std::span<const FunctionReference> function_references() { return kFunctions; }

Array apply(const FunctionReference& function, const Array& a, const Array& b, double slope) {
  Array y = function.operands > 1 ? add(a, b) : a;  // only its shape is used
  const Array x0 = broadcast(a, y.shape), x1 = function.operands > 1 ? broadcast(b, y.shape) : x0;
  for (int64_t i = 0; i < y.size(); ++i) {
    const double exact = function.value(x0.at(i), x1.at(i));
    y.at(i) = std::abs(exact) > 0x1.fffffep127 ? std::copysign(kInfinity, exact) : exact;
    const double passed = slope * (x0.err(i) + (function.operands > 1 ? x1.err(i) : 0.0));
    y.err(i) = passed + function.roundings * kUnit * (std::isfinite(y.at(i)) ? std::abs(y.at(i)) : 0.0) +
               function.roundings * kUnit * function.terms;
    // A value below the smallest normal number may count as 0.
    y.err(i) += 0x1p-126;
  }
  return y;
}

}  // namespace heed::ops

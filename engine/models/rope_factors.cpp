#include "models/rope_factors.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace heed {

namespace {

constexpr double kTolerance = 1e-4;

bool near(double a, double b) { return std::fabs(a - b) <= kTolerance * std::fabs(b); }

double frequency(size_t pair, size_t pairs, double base) {
  return std::pow(base, -static_cast<double>(pair) / static_cast<double>(pairs));
}

// The factor by which Llama3 scaling slows a frequency down.
double factor_of(const RotaryScaling& scaling, double frequency) {
  const double low = static_cast<double>(scaling.low), high = static_cast<double>(scaling.high);
  const double turns = frequency * static_cast<double>(scaling.trained_length) / (2 * std::numbers::pi);
  const double share = std::clamp((turns - low) / (high - low), 0.0, 1.0);
  return 1 / (share + (1 - share) / static_cast<double>(scaling.factor));
}

// The interpolation weight of pairs between the slowed and the others is linear in the frequency, so that two such pairs determine low and
// high.
void fit_bounds(std::span<const float> factors, double base, RotaryScaling* scaling) {
  const double most = static_cast<double>(scaling->factor);
  const auto is_between = [&](size_t i) {
    const double factor = static_cast<double>(factors[i]);
    return !near(factor, 1) && !near(factor, most);
  };
  const auto share = [&](size_t i) { return (1 / static_cast<double>(factors[i]) - 1 / most) / (1 - 1 / most); };
  size_t first = 0, last = factors.size() - 1;
  while (first < factors.size() && !is_between(first)) ++first;
  while (last > first && !is_between(last)) --last;
  if (first >= last) return;  // keep the default low and high
  const double a = frequency(first, factors.size(), base), b = frequency(last, factors.size(), base);
  const double slope = (share(first) - share(last)) / (a - b);
  if (!(slope > 0)) return;
  const double range = static_cast<double>(scaling->trained_length) / (2 * std::numbers::pi * slope);
  const double low = (a - share(first) / slope) * static_cast<double>(scaling->trained_length) / (2 * std::numbers::pi);
  if (!(low > 0) || !std::isfinite(range) || !std::isfinite(low)) return;
  scaling->low = static_cast<float>(low);
  scaling->high = static_cast<float>(low + range);
}

}  // namespace

std::optional<RotaryScaling> scaling_of(std::span<const float> factors, double base, int64_t trained_length) {
  RotaryScaling scaling;
  if (factors.empty()) return scaling;
  if (!std::all_of(factors.begin(), factors.end(), [](float f) { return f >= 1.0f && f <= 1e6f; })) return {};
  const auto all_are = [&](float wanted) {
    return std::all_of(factors.begin(), factors.end(), [&](float f) { return near(f, wanted); });
  };
  scaling.factor = *std::max_element(factors.begin(), factors.end());
  if (all_are(1.0f)) return RotaryScaling{};
  if (all_are(scaling.factor)) {
    scaling.kind = RotaryScaling::Kind::Linear;
    return scaling;
  }
  scaling.kind = RotaryScaling::Kind::Llama3;
  scaling.trained_length = trained_length;
  fit_bounds(factors, base, &scaling);
  if (!(scaling.low < scaling.high)) return {};
  for (size_t i = 0; i < factors.size(); ++i)
    if (!near(static_cast<double>(factors[i]), factor_of(scaling, frequency(i, factors.size(), base)))) return {};
  return scaling;
}

}  // namespace heed

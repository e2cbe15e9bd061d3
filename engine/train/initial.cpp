// Initial values of weights. This file is compiled without fused multiply-adds, so that each operation rounds the same everywhere.
#include <heed/initial.hpp>

#include <algorithm>
#include <cmath>
#include <numbers>

#include "base/float_environment.hpp"
#include "base/logging.hpp"
#include "base/philox.hpp"

namespace heed::train {
namespace {

constexpr uint32_t kUse = 2;  // last word of the counter; 0 is for dropout, 1 for sampling

// The natural logarithm of x in 0 .. 1, by ln x = 2 artanh((x - 1) / (x + 1)) for a mantissa between sqrt(1/2) and sqrt(2).
double natural_log(double x) {
  int exponent = 0;
  double part = std::frexp(x, &exponent);
  if (part < 0.5 * std::numbers::sqrt2) part *= 2.0, --exponent;
  const double s = (part - 1.0) / (part + 1.0), z = s * s;
  double sum = 0.0;
  for (int k = 23; k >= 1; k -= 2) sum = sum * z + 1.0 / k;
  return 2.0 * s * sum + exponent * std::numbers::ln2;
}

struct Turned {
  double cosine = 1.0, sine = 0.0;
};

// Cosine and sine of (word + 1/2) 2^-32 turns: series in the first quarter turn, then rotation by whole quarters.
Turned turned(uint32_t word) {
  const double x = ((word & 0x3fffffffu) + 0.5) * 0x1p-31 * std::numbers::pi, z = x * x;
  double cosine = 1.0, sine = 1.0;
  for (int k = 24; k >= 2; k -= 2) {
    cosine = 1.0 - z / (k * (k - 1)) * cosine;
    sine = 1.0 - z / (k * (k + 1)) * sine;
  }
  sine *= x;
  switch (word >> 30) {
    case 0: return {cosine, sine};
    case 1: return {-sine, cosine};
    case 2: return {-cosine, -sine};
    default: return {sine, -cosine};
  }
}

struct Fans {
  double in = 0.0, out = 0.0;
};

// The first option that is out of range; null if all are in range.
const char* mistake_in(const InitialOptions& o, std::span<const int64_t> shape) {
  if (o.kind > Initial::KaimingNormal) return "there is no such kind";
  if (!std::isfinite(o.mean)) return "mean must be finite";
  if (!(o.deviation >= 0.0f && std::isfinite(o.deviation))) return "deviation must be 0 or more";
  if (!(o.gain >= 0.0f && std::isfinite(o.gain))) return "gain must be 0 or more";
  if (std::any_of(shape.begin(), shape.end(), [](int64_t size) { return size < 1; })) return "sizes must be 1 or more";
  if (o.kind >= Initial::XavierUniform && shape.size() < 2) return "a weight [out, in, ...] has two axes or more";
  return nullptr;
}

Fans fans_of(std::span<const int64_t> shape) {
  double behind = 1.0;
  for (const int64_t size : shape.subspan(2)) behind *= static_cast<double>(size);
  return {static_cast<double>(shape[1]) * behind, static_cast<double>(shape[0]) * behind};
}

// The four random words of block `block`.
std::array<uint32_t, 4> words_of(const InitialOptions& o, uint64_t block) {
  return philox4x32_10(
      {static_cast<uint32_t>(block), static_cast<uint32_t>(block >> 32), static_cast<uint32_t>(o.seed >> 32), kUse},
      {static_cast<uint32_t>(o.seed), o.stream});
}

void fill_uniform(const InitialOptions& o, double most, std::span<float> values) {
  for (size_t i = 0; i < values.size(); i += 4) {
    const auto words = words_of(o, i / 4);
    for (size_t j = i; j < std::min(i + 4, values.size()); ++j)
      values[j] = static_cast<float>(most * ((words[j - i] + 0.5) * 0x1p-31 - 1.0));
  }
}

void fill_normal(const InitialOptions& o, double mean, double deviation, std::span<float> values) {
  for (size_t i = 0; i < values.size(); i += 2) {
    const auto words = words_of(o, i / 4);
    const double radius = std::sqrt(-2.0 * natural_log((words[i % 4] + 0.5) * 0x1p-32));
    const Turned at = turned(words[i % 4 + 1]);
    values[i] = static_cast<float>(mean + deviation * (radius * at.cosine));
    if (i + 1 < values.size()) values[i + 1] = static_cast<float>(mean + deviation * (radius * at.sine));
  }
}

}  // namespace

Status initial_values(const InitialOptions& options, std::span<const int64_t> shape, std::span<float> values) {
  if (const char* mistake = mistake_in(options, shape))
    return refuse((std::string("initial_values: ") + mistake).c_str());
  uint64_t left = values.size();  // divided by each size in turn, so that no product overflows
  bool fits = left != 0;
  for (const int64_t size : shape) {
    fits = fits && left % static_cast<uint64_t>(size) == 0;
    left /= static_cast<uint64_t>(size);
  }
  if (!fits || left != 1)
    return fail({}, Status::ShapeMismatch,
                format("initial_values: %zu values for the shape %s", values.size(), shape_text(shape).c_str()));
  const UsualFloats floats;
  const Fans fans = options.kind >= Initial::XavierUniform ? fans_of(shape) : Fans{};
  const double gain = options.gain;
  switch (options.kind) {
    case Initial::Zeros: std::fill(values.begin(), values.end(), 0.0f); break;
    case Initial::Ones: std::fill(values.begin(), values.end(), 1.0f); break;
    case Initial::Normal: fill_normal(options, options.mean, options.deviation, values); break;
    case Initial::XavierUniform: fill_uniform(options, gain * std::sqrt(6.0 / (fans.in + fans.out)), values); break;
    case Initial::XavierNormal: fill_normal(options, 0.0, gain * std::sqrt(2.0 / (fans.in + fans.out)), values); break;
    case Initial::KaimingUniform: fill_uniform(options, gain * std::sqrt(6.0 / fans.in), values); break;
    case Initial::KaimingNormal: fill_normal(options, 0.0, gain * std::sqrt(2.0 / fans.in), values); break;
  }
  return Status::Ok;
}

}  // namespace heed::train

// Initial weights: formulas in double by the C library, moments, fixed bits, mistakes.
#include <heed/initial.hpp>

#include <cmath>
#include <numbers>

#include "base/philox.hpp"
#include "harness/setup.hpp"

namespace heed::train {
namespace {

using Floats = std::vector<float>;
using Sizes = std::vector<int64_t>;

Floats made(const InitialOptions& options, const Sizes& shape) {
  int64_t count = 1;
  for (const int64_t size : shape) count *= size;
  Floats values(static_cast<size_t>(count), -7.0f);
  REQUIRE(initial_values(options, shape, values) == Status::Ok);
  return values;
}

double word(const InitialOptions& o, size_t i) {
  return philox4x32_10({static_cast<uint32_t>(i / 4), 0, static_cast<uint32_t>(o.seed >> 32), 2},
                       {static_cast<uint32_t>(o.seed), o.stream})[i % 4] +
         0.5;
}
double uniform(const InitialOptions& o, size_t i) { return word(o, i) * 0x1p-31 - 1.0; }
double normal(const InitialOptions& o, size_t i) {
  const double radius = std::sqrt(-2.0 * std::log(word(o, i & ~size_t{1}) * 0x1p-32));
  const double angle = 2.0 * std::numbers::pi * (word(o, i | 1) * 0x1p-32);
  return radius * (i % 2 == 0 ? std::cos(angle) : std::sin(angle));
}

struct Case {
  InitialOptions options;
  Sizes shape;
  double deviation;  // deviations from the papers
};

}  // namespace

TEST_CASE("initial values: formulas and moments", "[train]") {
  const double third = 1.0 / std::sqrt(3.0);
  const Case cases[] = {
      {{.kind = Initial::Normal}, {40001}, 1.0},
      {{.kind = Initial::Normal, .mean = -2.0f, .deviation = 0.25f, .seed = 0x123456789abcdef0u}, {3, 5, 1001}, 0.25},
      {{.kind = Initial::XavierUniform, .seed = 3, .stream = 5}, {70, 300}, std::sqrt(2.0 / 370)},
      {{.kind = Initial::XavierUniform, .gain = 2.0f}, {50, 20, 3, 3}, 2.0 * std::sqrt(2.0 / (9 * 70))},
      {{.kind = Initial::XavierNormal, .stream = 1}, {70, 300}, std::sqrt(2.0 / 370)},
      {{.kind = Initial::KaimingUniform, .gain = 0.5f}, {300, 70}, 0.5 * std::sqrt(2.0 / 70)},
      {{.kind = Initial::KaimingNormal, .seed = uint64_t{1} << 40}, {31, 20, 7}, std::sqrt(2.0 / 140)},
  };
  for (const Case& c : cases) {
    INFO(static_cast<int>(c.options.kind) << " of " << c.shape.size() << " axes");
    const InitialOptions& o = c.options;
    const bool is_normal =
        o.kind == Initial::Normal || o.kind == Initial::XavierNormal || o.kind == Initial::KaimingNormal;
    const double mean = o.kind == Initial::Normal ? o.mean : 0.0;
    const Floats values = made(o, c.shape);
    double sum = 0, squares = 0;
    size_t wrong = 0;
    for (size_t i = 0; i < values.size(); ++i) {
      const double unit = is_normal ? normal(o, i) : uniform(o, i) / third;
      const double exact = mean + c.deviation * unit, value = values[i];
      // Half a unit of f32, plus the errors of double and of the rounded gain.
      wrong += !(std::abs(value - exact) <= 0x1.001p-24 * std::abs(exact) + 1e-14);
      sum += value - mean;
      squares += (value - mean) * (value - mean);
    }
    CHECK(wrong == 0);
    const double n = static_cast<double>(values.size());
    CHECK(std::abs(sum / n) <= 5 * c.deviation / std::sqrt(n));
    CHECK(std::abs(std::sqrt(squares / n) - c.deviation) <= 5 * c.deviation / std::sqrt(n));
  }
  CHECK(made({.kind = Initial::Zeros}, {2, 3}) == Floats(6, 0.0f));
  CHECK(made({.kind = Initial::Ones}, {5}) == Floats(5, 1.0f));
}

TEST_CASE("initial values: the same bits everywhere, in parts and in wholes", "[train]") {
  // These bits were computed once, and must not depend on machine, compiler or rounding mode.
  const Floats few = made({.seed = 1, .stream = 2}, {5});
  const Floats uniform = made({.kind = Initial::XavierUniform, .seed = 1}, {1, 3});
  const auto bits = [](const Floats& values) {
    std::vector<uint32_t> all;
    for (const float v : values) all.push_back(std::bit_cast<uint32_t>(v));
    return all;
  };
  CHECK(bits(few) == std::vector<uint32_t>{0xbf28fae2, 0x3e8e6a04, 0x3f34b01d, 0xbeba60b0, 0xbea86eff});
  CHECK(bits(uniform) == std::vector<uint32_t>{0xbf4439c8, 0xbe4a3863, 0xbf0dbeb5});
  const Floats more = made({.seed = 1, .stream = 2}, {1003});
  CHECK(Floats(more.begin(), more.begin() + 5) == few);
  CHECK(made({.seed = 1, .stream = 3}, {5}) != few);
  CHECK(made({.seed = uint64_t{1} << 32 | 1, .stream = 2}, {5}) != few);
}

TEST_CASE("initial values: mistakes write nothing", "[train]") {
  struct {
    InitialOptions options;
    Sizes shape;
    Status status;
  } const wrong[] = {
      {{.kind = Initial::XavierNormal}, {6}, Status::InvalidArgument},
      {{.kind = Initial::KaimingUniform}, {}, Status::InvalidArgument},
      {{.kind = static_cast<Initial>(7)}, {6}, Status::InvalidArgument},
      {{.deviation = -1.0f}, {6}, Status::InvalidArgument},
      {{.mean = INFINITY}, {6}, Status::InvalidArgument},
      {{.gain = NAN}, {6}, Status::InvalidArgument},
      {{}, {0, 6}, Status::InvalidArgument},
      {{}, {-2, -3}, Status::InvalidArgument},
      {{}, {7}, Status::ShapeMismatch},
      {{}, {2, 2}, Status::ShapeMismatch},
      {{}, {int64_t{1} << 33, int64_t{1} << 33, 6}, Status::ShapeMismatch},
  };
  for (const auto& w : wrong) {
    Floats values(6, -7.0f);
    CHECK(initial_values(w.options, w.shape, values) == w.status);
    CHECK(values == Floats(6, -7.0f));
    CHECK(std::string(last_message()).starts_with("initial_values: "));
  }
}

}  // namespace heed::train

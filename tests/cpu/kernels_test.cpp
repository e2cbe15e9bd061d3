// The vector code of every instruction set that this processor supports.
#include "cpu/simd/kernels.hpp"

#include <bit>
#include <numbers>

#include "base/arith.hpp"
#include "base/half.hpp"
#include "cpu/attention/attention_kernels.hpp"
#include "cpu/gemm/matmul_kernels.hpp"
#include "cpu/simd/row_kernels.hpp"
#include "harness/catch.hpp"
#include "harness/reference.hpp"

namespace heed::cpu {
namespace {

// Panels of `type` with the values of `x`. Also rounds x to that type.
std::vector<std::byte> panels(ops::Array* x, DType type) {
  const auto count = static_cast<size_t>(x->size());
  std::vector<float> floats(x->value.begin(), x->value.end());
  std::vector<std::byte> stored(count * size_of(type));
  convert_floats(floats.data(), DType::F32, stored.data(), type, count);
  convert_floats(stored.data(), type, floats.data(), DType::F32, count);
  for (size_t i = 0; i < count; ++i) x->value[i] = static_cast<double>(floats[i]);
  return stored;
}

struct TileCase {
  int64_t rows, k;
  DType type;
  bool transposed, add;
};

// Rows of a, in the layout that tiles with Storage::narrow read.
struct Narrowed {
  int64_t k = 0;
  std::vector<uint16_t> bits;
  double at(int64_t row, int64_t p) const {
    return static_cast<double>(bfloat_to_float(bits[static_cast<size_t>(row * k + p)]));
  }
};

Narrowed narrow(const MatmulKernels::Storage& tiles, const float* a, int64_t a_row, int64_t a_k, int64_t rows,
                int64_t k) {
  Narrowed narrowed{align_up(k, tiles.step), {}};
  narrowed.bits.assign(static_cast<size_t>(rows * narrowed.k), 0x7fc0);  // NaN in elements that must not be written
  std::vector<float> row(static_cast<size_t>(k));
  for (int64_t i = 0; i < rows; ++i) {
    for (int64_t p = 0; p < k; ++p) row[static_cast<size_t>(p)] = a[i * a_row + p * a_k];
    tiles.narrow(row.data(), narrowed.bits.data() + i * narrowed.k, k);
    for (int64_t p = 0; p < k; ++p)
      CHECK(narrowed.bits[static_cast<size_t>(i * narrowed.k + p)] == float_to_bfloat(row[static_cast<size_t>(p)]));
  }
  return narrowed;
}

// Rearranges a panel [k][cols] of 16 bits as [k / step][cols][step].
std::vector<uint16_t> in_steps(const std::vector<std::byte>& panel, int64_t k, int64_t cols, int64_t step) {
  std::vector<uint16_t> turned(static_cast<size_t>(align_up(k, step) * cols));
  for (int64_t p = 0; p < k; ++p)
    for (int64_t j = 0; j < cols; ++j)
      std::memcpy(&turned[static_cast<size_t>((p / step * cols + j) * step + p % step)],
                  panel.data() + 2 * static_cast<size_t>(p * cols + j), 2);
  return turned;
}

void check_tile(const MatmulKernels& kernels, const TileCase& c) {
  const int64_t cols = kernels.cols, pitch = cols + 3;
  ops::Array a = ops::uniform({c.rows, c.k}, 1), b = ops::uniform({c.k, cols}, 2);
  const std::vector<std::byte> panel = panels(&b, c.type);
  panels(&a, DType::F32);
  std::vector<float> left(static_cast<size_t>(c.rows * c.k)), sums(static_cast<size_t>(c.rows * pitch), 3.0f);
  const int64_t a_row = c.transposed ? 1 : c.k, a_k = c.transposed ? c.rows : 1;
  for (int64_t i = 0; i < c.rows; ++i)
    for (int64_t p = 0; p < c.k; ++p)
      left[static_cast<size_t>(i * a_row + p * a_k)] = static_cast<float>(a.at(i * c.k + p));
  const MatmulKernels::Storage& tiles = kernels.of(c.type);
  std::vector<uint16_t> turned;
  if (tiles.step > 1) turned = in_steps(panel, c.k, cols, tiles.step);
  const void* stored = tiles.step > 1 ? static_cast<const void*>(turned.data()) : panel.data();
  if (tiles.narrow == nullptr) {
    tiles.tile[c.rows - 1](c.k, left.data(), a_row, a_k, stored, sums.data(), pitch, c.add, {panel.data(), 1});
  } else {
    const Narrowed narrowed = narrow(tiles, left.data(), a_row, a_k, c.rows, c.k);
    for (int64_t i = 0; i < c.rows; ++i)
      for (int64_t p = 0; p < c.k; ++p) a.value[static_cast<size_t>(i * c.k + p)] = narrowed.at(i, p);
    tiles.tile[c.rows - 1](narrowed.k, narrowed.bits.data(), narrowed.k, 1, stored, sums.data(), pitch, c.add,
                           {panel.data(), 1});
  }
  const ops::Array product = ops::matmul(a, b);
  double worst = 0.0;
  for (int64_t i = 0; i < c.rows; ++i)
    for (int64_t j = 0; j < pitch; ++j) {
      const double expected = j >= cols ? 3.0 : product.at(i * cols + j) + (c.add ? 3.0 : 0.0);
      worst = std::max(worst, std::abs(static_cast<double>(sums[static_cast<size_t>(i * pitch + j)]) - expected));
    }
  // Each of k partial sums below k is rounded, and so is the sum with 3.
  CHECK(worst < static_cast<double>(c.k + 1) * 0x1p-24 * (3.0 + static_cast<double>(c.k)));
}

// The value of one unit in the last place, as f32.
double unit_of(double x) {
  int exponent = 0;
  std::frexp(x, &exponent);
  return std::ldexp(1.0, std::max(exponent - 24, -149));
}

// Distance from the exact value, in units in the last place.
double ulps(float got, double exact) { return std::abs(static_cast<double>(got) - exact) / unit_of(exact); }

// Every 997th float of [low, high], and both ends. low and high have the same sign.
std::vector<float> sample(float low, float high) {
  const uint32_t a = std::bit_cast<uint32_t>(low), b = std::bit_cast<uint32_t>(high);
  std::vector<float> all = {low, high};
  for (uint32_t bits = std::min(a, b); bits < std::max(a, b); bits += 997) all.push_back(std::bit_cast<float>(bits));
  return all;
}

double normal(double x) { return 0.5 * std::erfc(-x / std::numbers::sqrt2); }

struct Function {
  Activation kind;
  double (*exact)(double x);
  double ulps;
  double tiny;  // smaller errors count as 0
};

}  // namespace

TEST_CASE("powers of 2 are within 2 ulp on every instruction set", "[cpu]") {
  const std::vector<float> samples = sample(-1e-6f, -126.0f);
  for (const Kernels& kernels : supported_kernels()) {
    INFO(kernels.name);
    const AttentionKernels& attention = *kernels.attention;
    const int64_t lanes = attention.queries;
    const int64_t keys = ceil_div(static_cast<int64_t>(samples.size()), lanes);
    std::vector<float> scores(samples);
    scores.resize(static_cast<size_t>(keys * lanes), -std::numeric_limits<float>::infinity());
    std::vector<float> largest(static_cast<size_t>(lanes), 0.0f), sums(static_cast<size_t>(lanes), 0.0f);
    attention.advance(scores.data(), keys, largest.data(), sums.data(), nullptr, 0);
    double worst = 0.0;
    for (size_t i = 0; i < samples.size(); ++i)
      worst = std::max(worst, ulps(scores[i], std::exp2(static_cast<double>(samples[i]))));
    CHECK(worst <= 2.0);
    for (size_t i = samples.size(); i < scores.size(); ++i) CHECK(scores[i] == 0.0f);
  }
}

// Softmax multiplies powers of e by one factor. The largest element has e^0 = 1, so that its result is the factor. Every other result,
// divided by the factor, is e^x apart from the product's rounding.
TEST_CASE("powers of e are within 2 ulp on every instruction set, as softmax uses them", "[cpu]") {
  constexpr float kHidden = -std::numeric_limits<float>::infinity();
  constexpr size_t kRow = 37;  // whole vectors and a remainder
  const std::vector<float> samples = sample(-1e-6f, -87.3f);
  for (const Kernels& kernels : supported_kernels()) {
    INFO(kernels.name);
    double worst = 0.0;
    for (size_t first = 0; first < samples.size(); first += kRow - 1) {
      const size_t count = std::min(kRow - 1, samples.size() - first);
      std::vector<float> x = {0.0f}, y(count + 1);
      x.insert(x.end(), samples.begin() + static_cast<std::ptrdiff_t>(first),
               samples.begin() + static_cast<std::ptrdiff_t>(first + count));
      kernels.rows->softmax(x.data(), 1.0f, y.data(), static_cast<int64_t>(x.size()), nullptr);
      const auto factor = static_cast<double>(y[0]);
      for (size_t i = 1; i < x.size(); ++i) {
        const double exact = std::exp(static_cast<double>(x[i]));
        const double rounding = 0.5 * unit_of(static_cast<double>(y[i])) / factor;
        const double error = std::abs(static_cast<double>(y[i]) / factor - exact);
        worst = std::max(worst, (error - rounding) / unit_of(exact));
      }
    }
    INFO(worst << " ulp");
    CHECK(worst <= 2.0);
    const float below[] = {0.0f, -87.4f, -1000.0f, -1e30f, kHidden};
    float y[5];
    kernels.rows->softmax(below, 1.0f, y, 5, nullptr);
    CHECK(y[0] == 1.0f);
    for (size_t i = 1; i < 5; ++i) CHECK(y[i] == 0.0f);
  }
}

TEST_CASE("activations are accurate on every instruction set", "[cpu]") {
  const Function functions[] = {
      {Activation::Relu, [](double x) { return x > 0 ? x : 0.0; }, 0.0, 0.0},
      {Activation::GeluErf, [](double x) { return x * normal(x); }, 40.0, 6e-9},
      {Activation::GeluTanh,
       [](double x) { return x / (1.0 + std::exp(-2.0 * 0.7978845608028654 * (x + 0.044715 * x * x * x))); }, 40.0,
       6e-9},
      {Activation::Silu, [](double x) { return x / (1.0 + std::exp(-x)); }, 4.0, 1e-30},
      {Activation::Tanh, [](double x) { return std::tanh(x); }, 3.0, 0.0},
  };
  std::vector<float> x = sample(-1e-6f, -30.0f);
  for (const float positive : sample(1e-6f, 30.0f)) x.push_back(positive);
  for (const float special : {0.0f, 1e30f, 200.0f, -200.0f}) x.push_back(special);
  for (const Kernels& kernels : supported_kernels())
    for (const Function& function : functions) {
      INFO(kernels.name << ", activation " << static_cast<int>(function.kind));
      std::vector<float> y(x.size());
      kernels.rows->activate(function.kind, x.data(), y.data(), static_cast<int64_t>(x.size()));
      double worst = 0.0;
      for (size_t i = 0; i < x.size(); ++i) {
        const double exact = function.exact(static_cast<double>(x[i]));
        if (std::abs(static_cast<double>(y[i]) - exact) <= function.tiny) continue;
        worst = std::max(worst, ulps(y[i], exact));
      }
      INFO(worst << " ulp");
      CHECK(worst <= function.ulps);
      const float nan = std::numeric_limits<float>::quiet_NaN();
      kernels.rows->activate(function.kind, &nan, y.data(), 1);
      CHECK(std::isnan(y[0]));
    }
}

TEST_CASE("activations of infinity and NaN on every instruction set", "[cpu]") {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  const struct {
    Activation kind;
    float most, least;  // for infinity and -infinity
  } limits[] = {{Activation::Relu, kInfinity, 0.0f},
                {Activation::GeluErf, kInfinity, 0.0f},
                {Activation::GeluTanh, kInfinity, 0.0f},
                {Activation::Silu, kInfinity, 0.0f},
                {Activation::Tanh, 1.0f, -1.0f}};
  constexpr int64_t kRow = 37;  // whole vectors and a remainder
  const auto all_are = [](const std::vector<float>& y, float expected) {
    return std::all_of(y.begin(), y.end(), [=](float v) { return v == expected; });
  };
  for (const Kernels& kernels : supported_kernels())
    for (const auto& limit : limits) {
      INFO(kernels.name << ", " << static_cast<int>(limit.kind));
      std::vector<float> y(kRow);
      kernels.rows->activate(limit.kind, std::vector<float>(kRow, kInfinity).data(), y.data(), kRow);
      CHECK(all_are(y, limit.most));
      kernels.rows->activate(limit.kind, std::vector<float>(kRow, -kInfinity).data(), y.data(), kRow);
      CHECK(all_are(y, limit.least));
      kernels.rows->activate(limit.kind, std::vector<float>(kRow, std::nanf("")).data(), y.data(), kRow);
      CHECK(std::all_of(y.begin(), y.end(), [](float v) { return std::isnan(v); }));
    }
}

TEST_CASE("softmax of a row with a NaN is NaN, on every instruction set", "[cpu]") {
  constexpr float kHidden = -std::numeric_limits<float>::infinity();
  for (const Kernels& kernels : supported_kernels())
    for (const float others : {kHidden, 1.0f})
      for (const size_t n : {3, 37})
        for (size_t at = 0; at < n; at += 2) {
          INFO(kernels.name << ", NaN at " << at << " of " << n << " beside " << others);
          std::vector<float> x(n, others), y(n);
          x[at] = std::nanf("");
          for (const float factor : {1.0f, 0.5f}) {
            kernels.rows->softmax(x.data(), factor, y.data(), static_cast<int64_t>(n), nullptr);
            CHECK(std::all_of(y.begin(), y.end(), [](float v) { return std::isnan(v); }));
          }
        }
}

TEST_CASE("dropout's words are the same on every instruction set", "[cpu]") {
  const DropoutRule rule = {dropout_words(0.37f), 11, 5};
  // Also elements from the middle of a block and across the 2^32nd block.
  for (const uint64_t first : {uint64_t{0}, uint64_t{3}, uint64_t{0x400000000} - 30, uint64_t{0x123456789a}})
    for (const Kernels& kernels : supported_kernels()) {
      INFO(kernels.name << " from " << first);
      const std::vector<float> ones(203, 1.0f);
      std::vector<float> y(ones.size());
      kernels.rows->dropout(rule, first, ones.data(), y.data(), static_cast<int64_t>(y.size()));
      for (size_t i = 0; i < y.size(); ++i) {
        const bool dropped = dropout_bits(rule.seed, rule.stream, first + i) < rule.words.threshold;
        REQUIRE(y[i] == (dropped ? 0.0f : rule.words.keep_scale));
      }
    }
}

TEST_CASE("f16 and bf16 are converted bit for bit on every instruction set", "[cpu]") {
  std::vector<uint16_t> all(65536);
  for (size_t i = 0; i < all.size(); ++i) all[i] = static_cast<uint16_t>(i);
  for (const Kernels& kernels : supported_kernels())
    for (const DType type : {DType::F16, DType::BF16}) {
      INFO(kernels.name << ", " << to_string(type));
      std::vector<float> wide(all.size());
      std::vector<uint16_t> back(all.size());
      kernels.rows->widen(type, all.data(), wide.data(), 65536);
      size_t wrong = 0;
      for (size_t i = 0; i < all.size(); ++i) {
        const float expected = type == DType::F16 ? half_to_float(all[i]) : bfloat_to_float(all[i]);
        wrong += !(wide[i] == expected || (wide[i] != wide[i] && expected != expected));
      }
      CHECK(wrong == 0);
      // Values halfway between two f16 or bf16 numbers, and the next f32 beside them.
      for (float& w : wide)
        w = std::bit_cast<float>(std::bit_cast<uint32_t>(w) + 0x0fffu + (std::bit_cast<uint32_t>(w) >> 13) % 3);
      kernels.rows->narrow(type, wide.data(), back.data(), 65536);
      for (size_t i = 0; i < all.size(); ++i) {
        const uint16_t expected = type == DType::F16 ? float_to_half(wide[i]) : float_to_bfloat(wide[i]);
        if (wide[i] != wide[i]) continue;  // some NaN
        wrong += back[i] != expected;
      }
      CHECK(wrong == 0);
    }
}

TEST_CASE("every register tile of every instruction set multiplies", "[cpu]") {
  for (const Kernels& kernels : supported_kernels()) {
    const MatmulKernels& matmul = *kernels.matmul;
    CHECK(matmul.cols >= 2);
    for (int64_t rows = 1; rows <= matmul.rows; ++rows)
      for (const int64_t k : {1, 2, 3, 64, 257})
        for (const DType type : {DType::F32, DType::F16, DType::BF16}) {
          INFO(kernels.name << ", " << rows << " rows, k " << k << ", " << to_string(type));
          check_tile(matmul, {rows, k, type, false, false});
          check_tile(matmul, {rows, k, type, true, true});
        }
  }
}

TEST_CASE("a thin tile gives the same bits as four tiles of one row", "[cpu]") {
  for (const Kernels& kernels : supported_kernels()) {
    const MatmulKernels& matmul = *kernels.matmul;
    constexpr int64_t k = 77, kPanels = MatmulKernels::kThinPanels;
    for (const DType type : {DType::F32, DType::F16, DType::BF16}) {
      INFO(kernels.name << ", " << to_string(type));
      ops::Array b = ops::uniform({kPanels * align_up<int64_t>(k, 2), matmul.cols}, 3);
      const std::vector<std::byte> packed = panels(&b, type);
      const ops::Array values = ops::uniform({k}, 4);
      const std::vector<float> floats(values.value.begin(), values.value.end());
      const MatmulKernels::Storage& tiles = matmul.of(type);
      const int64_t rows = align_up(k, tiles.step), steps = tiles.narrow != nullptr ? rows : k;
      Narrowed narrowed;
      const void* a = floats.data();
      if (tiles.narrow != nullptr) {
        narrowed = narrow(tiles, floats.data(), k, 1, 1, k);
        a = narrowed.bits.data();
      }
      const auto size = static_cast<size_t>(kPanels * matmul.cols);
      std::vector<float> thin(size, 1.0f), single(size, 1.0f);
      for (const bool add : {true, false}) {
        tiles.thin(steps, a, 1, packed.data(), rows * matmul.cols, thin.data(), add);
        for (int64_t p = 0; p < kPanels; ++p)
          tiles.tile[0](steps, a, 0, 1, packed.data() + static_cast<size_t>(p * rows * matmul.cols) * size_of(type),
                        single.data() + p * matmul.cols, matmul.cols, add, {packed.data(), 1});
        CHECK(thin == single);
      }
    }
  }
}

}  // namespace heed::cpu

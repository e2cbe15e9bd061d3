// CompileOptions::round_rows: rows that quantized weights multiply are rounded to 8 bits, and results are those of the rounded rows.
#include <cmath>
#include <cstring>
#include <limits>

#include "base/blocks.hpp"
#include "cpu/gemm/matmul_kernels.hpp"
#include "cpu/support.hpp"
#include "harness/trial.hpp"

namespace heed::cpu_test {
namespace {

constexpr DType kRounded[] = {DType::Q8_0, DType::Q4_0, DType::Q4_1, DType::Q5_0,
                              DType::Q5_1, DType::Q4_K, DType::Q5_K, DType::Q6_K};

// A row as the CPU rounds it: integer multiples of a scale in each block of 32 neighbours.
struct Rounded {
  std::vector<double> values, scales;  // rounding error of each element

  explicit Rounded(std::span<const float> x) {
    for (size_t at = 0; at < x.size(); at += 32) {
      float largest = 0.0f;
      for (const float v : x.subspan(at, 32)) largest = std::max(largest, std::fabs(v));
      const float scale = largest / 127.0f, factor = largest > 0.0f ? 127.0f / largest : 0.0f;
      for (const float v : x.subspan(at, 32)) {
        values.push_back(static_cast<double>(scale) * static_cast<double>(std::nearbyint(v * factor)));
        scales.push_back(static_cast<double>(scale));
      }
    }
  }
};

// w [n, k] of quantized blocks, and plans of y = x w^T + b for up to `most` rows, with and without rounding.
struct RoundedLayer {
  int64_t n, k;
  std::vector<float> w, b;
  Plan rounds, exact;

  RoundedLayer(Device& device, DType type, int64_t columns, int64_t depth, int64_t most) : n(columns), k(depth) {
    ops::Trial trial(DType::F32);
    ops::Array values;
    trial.blocks("w", {n, k}, type, 61, &values);
    w.assign(values.value.begin(), values.value.end());
    b = floats({n}, 62);
    Weights weights;
    REQUIRE(device.upload(trial.host_weights(), &weights) == Status::Ok);
    Graph g;
    const Dim m = g.extent("m", most);
    const Tensor y =
        g.linear(g.input("x", {m, k}), g.weight("w", {n, k}, type), g.constant("b", {n}, std::span<const float>(b)));
    g.output("y", y);
    rounds = test::compiled(device, g, weights, {.round_rows = true});
    exact = test::compiled(device, g, weights);
  }

  std::vector<float> run(Plan& plan, std::span<const float> x) const {
    const int64_t rows = static_cast<int64_t>(x.size()) / k;
    std::vector<float> y(static_cast<size_t>(rows * n));
    REQUIRE(plan.run({{"x", x}, {"y", y}}, {{"m", rows}}) == Status::Ok);
    return y;
  }
};

bool says_rounded(const Plan& plan) { return plan.passes()[0].why.find("rounded to 8 bits") != std::string::npos; }

bool has_rounding(const char* set) {
  for (const cpu::Kernels& kernels : cpu::supported_kernels())
    if (std::string_view(kernels.name) == set) return kernels.matmul->rounded != nullptr;
  return false;
}

}  // namespace

TEST_CASE("rounded rows: results are those of the rounded rows, on each instruction set", "[cpu][quantized]") {
  on_every_set([](Device& device, const char* set) {
    for (const DType type : kRounded) {
      // Columns around panels and vectors; k of one quantized block, of several, and of several cache blocks.
      const int64_t block = block_of(type).elements;
      for (const auto& [n, k] : {std::pair<int64_t, int64_t>{1, block}, {31, 2 * block}, {70, 768 + block}, {33, 1536}})
        for (const int64_t m : {1, 5, 13, 40}) {
          INFO(set << ", " << to_string(type) << " [" << m << ", " << k << "] x [" << n << "]");
          RoundedLayer layer(device, type, n, k, m);
          const std::vector<float> x = floats({m, k}, 63, 3.0);
          const std::vector<float> y = layer.run(layer.rounds, x), exact = layer.run(layer.exact, x);
          CHECK(says_rounded(layer.rounds) == has_rounding(set));
          CHECK_FALSE(says_rounded(layer.exact));
          if (!has_rounding(set)) {
            CHECK(y == exact);
            continue;
          }
          double worst = 0, worst_of_promise = 0;
          for (int64_t i = 0; i < m; ++i) {
            const Rounded row(std::span<const float>(x).subspan(static_cast<size_t>(i * k), static_cast<size_t>(k)));
            for (int64_t j = 0; j < n; ++j) {
              double sum = static_cast<double>(layer.b[static_cast<size_t>(j)]), size = std::abs(sum), promise = 0;
              for (int64_t p = 0; p < k; ++p) {
                const auto at = static_cast<size_t>(p);
                const auto weight = static_cast<double>(layer.w[static_cast<size_t>(j * k + p)]);
                sum += row.values[at] * weight;
                // Offsets and integer sums are rounded separately, and may be larger than their difference.
                size += (std::abs(weight) + std::abs(static_cast<double>(layer.w[static_cast<size_t>(j * k)]))) *
                        127.0 * row.scales[at];
                promise += std::abs(weight) * row.scales[at] / 2.0;
              }
              const size_t at = static_cast<size_t>(i * n + j);
              const double unit = 0x1p-24 * static_cast<double>(k / 16 + 8) * size;
              worst = std::max(worst, std::abs(static_cast<double>(y[at]) - sum) / unit);
              worst_of_promise =
                  std::max(worst_of_promise, std::abs(static_cast<double>(y[at]) - static_cast<double>(exact[at])) /
                                                 (promise + 2.0 * unit));
            }
          }
          CHECK(worst < 1.0);
          CHECK(worst_of_promise < 1.0);
        }
    }
  });
}

TEST_CASE("rounded rows: the same bits on each instruction set, and among any number of rows", "[cpu][quantized]") {
  constexpr int64_t kMost = 26, kN = 70;
  for (const DType type : kRounded) {
    std::vector<float> before;
    on_every_set([&](Device& device, const char* set) {
      if (!has_rounding(set)) return;
      INFO(set << ", " << to_string(type));
      const int64_t k = 1024 + block_of(type).elements;
      RoundedLayer layer(device, type, kN, k, kMost);
      const std::vector<float> x = floats({kMost, k}, 64);
      const std::vector<float> all = layer.run(layer.rounds, x);
      for (const int64_t rows : {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 24, 25}) {
        const std::vector<float> some = layer.run(layer.rounds, std::span(x).first(static_cast<size_t>(rows * k)));
        CHECK(std::memcmp(some.data(), all.data(), some.size() * sizeof(float)) == 0);
      }
      if (!before.empty()) CHECK(std::memcmp(before.data(), all.data(), all.size() * sizeof(float)) == 0);
      before = all;
    });
  }
}

TEST_CASE("rounded rows: faulty, empty and extreme rows", "[cpu][quantized]") {
  constexpr int64_t kN = 33, kK = 512;
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  on_every_set([](Device& device, const char* set) {
    if (!has_rounding(set)) return;
    for (const DType type : kRounded) {
      INFO(set << ", " << to_string(type));
      RoundedLayer layer(device, type, kN, kK, 8);
      std::vector<float> x = floats({8, kK}, 65);
      const auto row = [&](size_t i) { return std::span(x).subspan(i * kK, kK); };
      row(0)[77] = std::nanf("");
      row(1)[500] = kInfinity, row(2)[0] = -kInfinity;
      std::fill(row(3).begin(), row(3).end(), 0.0f);
      std::fill(row(4).begin(), row(4).end(), -0x1p-140f);
      for (float& v : row(5)) v *= 0x1p120f;
      for (float& v : row(6)) v *= 0x1p-90f;
      const std::vector<float> y = layer.run(layer.rounds, x), exact = layer.run(layer.exact, x);
      for (size_t j = 0; j < kN; ++j) {
        for (const size_t faulty : {0, 1, 2}) CHECK(std::isnan(y[faulty * kN + j]));
        for (const size_t empty : {3, 4}) CHECK(y[empty * kN + j] == layer.b[j]);
        CHECK(std::isfinite(y[5 * kN + j]) == std::isfinite(exact[5 * kN + j]));
        CHECK(y[6 * kN + j] == exact[6 * kN + j]);  // only the bias
        CHECK(std::abs(y[7 * kN + j] - exact[7 * kN + j]) < 0.1f * (1.0f + std::abs(exact[7 * kN + j])));
      }
    }
  });
}

}  // namespace heed::cpu_test

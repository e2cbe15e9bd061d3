// Compares every device with the canon in plain loops, and checks that the comparison detects planted faults.
#include "reproducible/oracle.hpp"

#include <bit>
#include <cmath>

#include "harness/setup.hpp"
#include "reproducible/inputs.hpp"

namespace heed::reproducible {
namespace {

constexpr int64_t kRows = 5, kColumns = 300, kDepth = 77, kProductColumns = 33;
constexpr float kEps = 1e-5f, kAttentionScale = 0.01f;

struct Inputs {
  Floats x, gamma, beta, a, b, bias, other, nan, q, k, v;

  explicit Inputs(bool wild)
      : x(values(kRows * kColumns, 1, wild)),
        gamma(values(kColumns, 2, wild)),
        beta(values(kColumns, 3, wild)),
        a(values(kRows * kDepth, 4, wild)),
        b(values(kDepth * kProductColumns, 5, wild)),
        bias(values(kProductColumns, 6, wild)),
        other(values(kRows * kColumns, 7, wild)),
        nan(x),
        q(values(kRows * kDepth, 8, wild)),
        k(values(kRows * kDepth, 9, wild)),
        v(values(kRows * kColumns, 10, wild)) {
    for (size_t i = 3; i < nan.size(); i += 17) nan[i] = std::bit_cast<float>(0xffc00123u);
    // Products equal to the smallest normal number, just below it, and -0.
    x[5] = 0x1p-63f, other[5] = 0x1p-63f;
    x[6] = std::bit_cast<float>(0x1fffffffu), other[6] = std::bit_cast<float>(0x20000001u);
    x[7] = -0.0f, other[7] = 3.0f;
    a[0] = 0x1p-52f, b[0] = 0x1p30f;
    // Only the last query sees these keys.
    v[v.size() - 2] = std::bit_cast<float>(0x7f800000u), v[v.size() - 3] = std::bit_cast<float>(0xffc00123u);
  }
};

// The cross-entropy of every label, with the opposite sign. A difference from 0 is never -0.
Floats log_softmax(const Oracle& oracle, const Floats& x) {
  Floats y(x.size());
  for (int64_t column = 0; column < kColumns; ++column) {
    const Floats losses = oracle.loss(x, std::vector<int32_t>(kRows, static_cast<int32_t>(column)), kColumns, 0.0f);
    for (size_t row = 0; row < losses.size(); ++row)
      y[row * kColumns + static_cast<size_t>(column)] = 0.0f - losses[row];
  }
  return y;
}

Results expected(const Oracle& oracle, const Inputs& in) {
  Results results = {
      {"product", oracle.product(in.a, in.b, {}, kRows, kProductColumns, 1.0f, Activation::None)},
      {"linear", oracle.product(in.a, in.b, in.bias, kRows, kProductColumns, 0.37f, Activation::GeluErf)},
      {"softmax", oracle.softmax(in.x, kColumns, 0.3f)},
      {"attention", oracle.causal_attention(in.q, in.k, in.v, kRows, kAttentionScale)},
      {"log_sum_exp", oracle.log_sum_exp(oracle.causal_scores(in.q, in.k, kRows, kAttentionScale), kRows)},
      {"layernorm", oracle.layernorm(in.x, in.gamma, in.beta, kColumns, kEps)},
      {"rmsnorm", oracle.rmsnorm(in.x, in.gamma, kColumns, kEps)},
      {"l2_normalize", oracle.l2_normalize(in.x, kColumns, kEps)},
      {"log_softmax", log_softmax(oracle, in.x)},
      {"mean", oracle.mean(in.x, kColumns)},
      {"product of rows", oracle.reduce(Reduction::Product, in.x, kColumns)},
      {"log-sum-exp", oracle.reduce(Reduction::LogSumExp, in.x, kColumns)},
      {"L2", oracle.reduce(Reduction::L2, in.x, kColumns)},
      {"cumsum", oracle.cumsum(in.x, kColumns)},
      {"add", oracle.add(in.x, in.other)},
      {"multiply", oracle.multiply(in.x, in.other)},
      {"added nan", oracle.add(in.nan, in.other)},
  };
  for (const auto& [name, kind] : kActivations) {
    Floats& y = results.emplace_back(name, Floats()).second;
    const Floats halves = oracle.multiply(in.x, Floats(in.x.size(), 0.5f));
    for (const float v : halves) y.push_back(oracle.canonical(oracle.activate(kind, v)));
  }
  return results;
}

Graph graph() {
  Graph g;
  const Tensor x = g.input("x", {kRows, kColumns}), other = g.input("other", {kRows, kColumns});
  const Tensor a = g.input("a", {kRows, kDepth}), b = g.input("b", {kDepth, kProductColumns});
  const Tensor gamma = g.input("gamma", {kColumns}), beta = g.input("beta", {kColumns});
  g.output("product", g.matmul(a, b));
  g.output("linear", g.activation(g.add(g.matmul(a, b, {.scale = 0.37f}), g.input("bias", {kProductColumns})),
                                  Activation::GeluErf));
  g.output("softmax", g.softmax(x, {.scale = 0.3f}));
  const auto head = [&](const char* name, int64_t width) { return g.input(name, {1, 1, kRows, width}); };
  const AttentionResult attention =
      g.attention(head("q", kDepth), head("k", kDepth), head("v", kColumns),
                  {.scale = kAttentionScale, .causal = Causal::TopLeft, .return_log_sum_exp = true});
  g.output("attention", attention.output);
  g.output("log_sum_exp", attention.log_sum_exp);
  g.output("layernorm", g.layernorm(x, gamma, beta, kEps));
  g.output("rmsnorm", g.rmsnorm(x, gamma, kEps));
  g.output("l2_normalize", g.l2_normalize(x, kEps));
  g.output("log_softmax", g.log_softmax(x));
  g.output("mean", g.mean(x, 0));
  g.output("product of rows", g.reduce(x, Reduction::Product, {0}));
  g.output("log-sum-exp", g.reduce(x, Reduction::LogSumExp, {0}));
  g.output("L2", g.reduce(x, Reduction::L2, {0}));
  g.output("cumsum", g.cumsum(x, 1));
  g.output("add", g.add(x, other));
  g.output("multiply", g.mul(x, other));
  g.output("added nan", g.add(g.input("nan", {kRows, kColumns}), other));
  const Tensor halves = g.scale(x, 0.5f);
  for (const auto& [name, kind] : kActivations) g.output(name, g.activation(halves, kind));
  return g;
}

Results computed(Plan& plan, const Inputs& in, const Results& like) {
  Results results = like;
  std::vector<HostBuffer> buffers = {{"x", in.x},       {"other", in.other}, {"a", in.a},       {"b", in.b},
                                     {"bias", in.bias}, {"gamma", in.gamma}, {"beta", in.beta}, {"nan", in.nan},
                                     {"q", in.q},       {"k", in.k},         {"v", in.v}};
  for (auto& [name, values] : results) buffers.emplace_back(name, values);
  REQUIRE(plan.run(buffers) == Status::Ok);
  return results;
}

}  // namespace

TEST_CASE("reproducible: devices compute what plain loops do, bit for bit", "[reproducible]") {
  on_devices(graph(), [](Plan& plan) {
    for (const bool wild : {false, true}) {
      const Inputs in(wild);
      const Results want = expected({}, in);
      check_bits_of(computed(plan, in, want), want, wild ? " of wild values" : "");
    }
  });
}

// oracle_training_test.cpp checks the faults of training.
TEST_CASE("reproducible: each fault changes some bits", "[reproducible]") {
  for (const Fault fault : kFaults) {
    if (fault >= Fault::LibraryLog) continue;
    INFO(to_string(fault));
    std::string noticed;
    for (const bool wild : {false, true})
      noticed += differing(expected({}, Inputs(wild)), expected({fault}, Inputs(wild)));
    CHECK_FALSE(noticed.empty());
  }
  CHECK(std::size(kFaults) == static_cast<size_t>(Fault::OneSumOfRows));  // the last one
}

TEST_CASE("reproducible: errors of the functions are as the README says", "[reproducible]") {
  const Oracle oracle;
  const auto worst = [](float low, float high, const auto& function, const auto& exact) {
    double most = 0;
    for (int i = 0; i <= 40000; ++i) {
      const float x = low + (high - low) * static_cast<float>(i) * (1.0f / 40000.0f);
      const double want = exact(static_cast<double>(x));
      int exponent = 0;
      std::frexp(want, &exponent);
      most = std::max(most, std::fabs(static_cast<double>(function(x)) - want) / std::ldexp(1.0, exponent - 24));
    }
    return most;
  };
  CHECK(worst(1.0f, 2.0f, [&](float x) { return oracle.reciprocal(x); }, [](double x) { return 1 / x; }) < 1);
  CHECK(worst(
            1.0f, 4.0f, [&](float x) { return oracle.reciprocal_root(x); }, [](double x) { return 1 / std::sqrt(x); }) <
        2);
  CHECK(worst(-87.0f, 88.0f, [&](float x) { return oracle.exp(x); }, [](double x) { return std::exp(x); }) < 2);
  CHECK(worst(1.0f, 1e5f, [&](float x) { return oracle.log(x); }, [](double x) { return std::log(x); }) < 2);
  CHECK(worst(1.0f, 4.0f, [&](float x) { return oracle.log(x); }, [](double x) { return std::log(x); }) < 2);
  CHECK(worst(1.0f, 4.0f, [&](float x) { return oracle.root(x); }, [](double x) { return std::sqrt(x); }) < 3);
  CHECK(worst(
            -9.0f, -1e-6f, [&](float x) { return oracle.one_less_power(x); }, [](double x) { return -std::expm1(x); }) <
        3);
  CHECK(worst(-1.0f, 1.0f, [&](float x) { return oracle.exp(x); }, [](double x) { return std::exp(x); }) < 2);
  CHECK(worst(
            1e-3f, 9.0f, [&](float x) { return oracle.activate(Activation::Tanh, x); },
            [](double x) { return std::tanh(x); }) < 3);
  const auto silu = [](double x) { return x / (1 + std::exp(-x)); };
  CHECK(worst(-80.0f, 80.0f, [&](float x) { return oracle.activate(Activation::Silu, x); }, silu) < 4);
  double apart = 0;
  for (int i = -59999; i < 60000; i += 2) {
    const float x = static_cast<float>(i) * 1e-4f, got = oracle.activate(Activation::GeluErf, x);
    const double want = 0.5 * static_cast<double>(x) * std::erfc(-static_cast<double>(x) / std::sqrt(2.0));
    apart = std::max(apart, std::fabs(static_cast<double>(got) - want) / std::fabs(want));
  }
  CHECK(apart < 5e-6);
  const auto error_of_slope = [&](Activation kind, const auto& function) {
    double most = 0;
    for (int i = -100000; i <= 100000; i += 7) {
      const double x = static_cast<double>(i) * 1e-4 + 3e-5, step = 1e-5;
      const double slope = (function(x + step) - function(x - step)) / (2 * step);
      most = std::max(most, std::fabs(static_cast<double>(oracle.derivative(kind, static_cast<float>(x))) - slope));
    }
    return most;
  };
  const auto gelu_tanh = [](double x) { return 0.5 * x * (1 + std::tanh(0.7978845608 * (x + 0.044715 * x * x * x))); };
  const auto gelu_erf = [](double x) { return 0.5 * x * std::erfc(-x / std::sqrt(2.0)); };
  CHECK(error_of_slope(Activation::GeluErf, gelu_erf) < 1e-6);
  CHECK(error_of_slope(Activation::GeluTanh, gelu_tanh) < 1e-6);
  CHECK(error_of_slope(Activation::Silu, silu) < 1e-6);
  CHECK(error_of_slope(Activation::Tanh, [](double x) { return std::tanh(x); }) < 1e-6);
}

}  // namespace heed::reproducible

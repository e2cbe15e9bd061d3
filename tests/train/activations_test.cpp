// Gradients of activations, and the matmuls before and after them, against formulas in double.
#include <cmath>
#include <limits>
#include <numbers>

#include "harness/catch.hpp"
#include "train/gradient.hpp"

namespace heed::train_tests {
namespace {

using namespace heed::ops;

double derivative(double x, Activation kind) {
  const double phi = std::exp(-x * x / 2.0) / std::sqrt(2.0 * std::numbers::pi);
  const double c = std::sqrt(2.0 / std::numbers::pi), u = c * (x + 0.044715 * x * x * x);
  const double s = 1.0 / (1.0 + std::exp(-x)), tanh_u = std::tanh(u);
  switch (kind) {
    case Activation::Relu: return x > 0.0 ? 1.0 : 0.0;
    case Activation::GeluErf: return 0.5 * std::erfc(-x / std::sqrt(2.0)) + x * phi;
    case Activation::GeluTanh:
      return 0.5 * (1.0 + tanh_u) + 0.5 * x * (1.0 - tanh_u * tanh_u) * c * (1.0 + 3.0 * 0.044715 * x * x);
    case Activation::Silu: return s * (1.0 + x * (1.0 - s));
    case Activation::Tanh: return 1.0 / (std::cosh(x) * std::cosh(x));
    default: return 1.0;
  }
}

Case activation_case(const Sizes& shape, Activation kind, double range) {
  return {"activation " + std::to_string(static_cast<int>(kind)) + " " + text_of(shape) + " within " +
              std::to_string(range),
          [=](Trial& t) {
            const Tensor x = t.input("x", shape_of(shape));
            t.graph.output("y", gradient(t, t.graph.activation(x, kind), x));
            Run& run = t.run();
            const Array before = run.input("x", uniform(shape, 1, -range, range));
            const Array up = run.input("up", uniform(shape, 2));
            Array expected(shape);
            for (int64_t i = 0; i < expected.size(); ++i) {
              expected.at(i) = up.at(i) * derivative(before.at(i), kind);
              // Summands that cancel are as large as 1.2.
              expected.err(i) = std::abs(up.at(i)) * 64.0 * kUnit * 1.2;
            }
            run.expect_within("y", t.stored(expected), t.dtype);
            t.passes = {"elementwise"};
          }};
}

// At infinities derivatives have their limits.
Case limits_case(Activation kind) {
  return {"limits of activation " + std::to_string(static_cast<int>(kind)), [=](Trial& t) {
            constexpr double kInfinity = std::numeric_limits<double>::infinity();
            const Tensor x = t.input("x", {7});
            t.graph.output("y", gradient(t, t.graph.activation(x, kind), x));
            Run& run = t.run();
            run.input("x", values({7}, {kInfinity, -kInfinity, 6e4, -6e4, 300.0, -300.0, NAN}));
            run.input("up", filled({7}, 2.0));
            const double high = kind == Activation::Tanh ? 0.0 : 2.0;
            Array expected = values({7}, {high, 0, high, 0, high, 0, NAN});
            for (int64_t i = 0; i < 6; ++i) expected.err(i) = 1e-6;
            run.expect_within("y", t.stored(expected), t.dtype);
          }};
}

// The upstream gradient of an activation is a matmul, which multiplies by the derivatives itself.
Case slopes_case(int64_t m, int64_t n, int64_t k, Activation kind) {
  return {"product of " + std::to_string(m) + " " + std::to_string(n) + " " + std::to_string(k) +
              " by slopes of activation " + std::to_string(static_cast<int>(kind)),
          [=](Trial& t) {
            const Tensor x = t.input("x", {m, n});
            Array w = uniform({k, n}, 5);
            const Tensor y = t.graph.linear(t.graph.activation(x, kind), t.weight("w", &w));
            t.graph.output("dx", gradient(t, y, x));
            Run& run = t.run();
            const Array before = run.input("x", uniform({m, n}, 3, -3, 3)), up = run.input("up", uniform({m, k}, 4));
            const Array products = matmul(up, w);
            Array expected = products;
            for (int64_t i = 0; i < expected.size(); ++i) {
              const double slope = derivative(before.at(i), kind);
              expected.at(i) *= slope;
              expected.err(i) = products.err(i) * 1.2 + std::abs(products.at(i)) * 64.0 * kUnit * 1.2;
            }
            run.expect_within("dx", t.stored(expected), t.dtype);
            t.passes = {"matmul"};
          }};
}

// The activation's gradient reads its input, which the matmul stores beside its result.
Case kept_case(int64_t m, int64_t n, int64_t k, Activation kind, bool biased) {
  return {"product of " + std::to_string(m) + " " + std::to_string(n) + " " + std::to_string(k) +
              " before and behind activation " + std::to_string(static_cast<int>(kind)) +
              (biased ? ", with a bias" : ""),
          [=](Trial& t) {
            const Tensor x = t.input("x", {m, k});
            Array w = uniform({n, k}, 5), b = uniform({n}, 6);
            const Tensor y = t.graph.linear(x, t.weight("w", &w), biased ? t.weight("b", &b) : Tensor{});
            t.graph.output("before", y);
            t.graph.output("behind", t.graph.activation(y, kind));
            Run& run = t.run();
            const Array made = matmul(run.input("x", uniform({m, k}, 3)), transposed(w));
            const Array before = biased ? add(made, b) : made;
            run.expect_within("before", t.stored(before), t.dtype);
            run.expect_within("behind", t.stored(activation(before, kind)), t.dtype);
            t.passes = {"matmul"};
          }};
}

}  // namespace

TEST_CASE("derivatives of activations on every device", "[train][ops]") {
  Operation operation{"activation_backward", {}};
  for (const Activation kind :
       {Activation::Relu, Activation::GeluErf, Activation::GeluTanh, Activation::Silu, Activation::Tanh}) {
    operation.cases.push_back(activation_case({3, 1001}, kind, 8.0));
    operation.cases.push_back(activation_case({5, 64}, kind, 1.0));
    operation.cases.push_back(activation_case({40}, kind, 100.0));
    operation.cases.push_back(limits_case(kind));
  }
  check(operation);
}

TEST_CASE("products beside activations that are differentiated, on every device", "[train][ops]") {
  Operation operation{"matmul_slopes", {}};
  for (const Activation kind :
       {Activation::Relu, Activation::GeluErf, Activation::GeluTanh, Activation::Silu, Activation::Tanh})
    operation.cases.push_back(slopes_case(19, 37, 23, kind));
  operation.cases.push_back(slopes_case(1, 70, 40, Activation::GeluErf));
  operation.cases.push_back(slopes_case(130, 64, 3, Activation::Silu));
  operation.cases.push_back(kept_case(19, 37, 23, Activation::GeluErf, true));
  operation.cases.push_back(kept_case(1, 70, 40, Activation::Silu, true));
  operation.cases.push_back(kept_case(130, 64, 30, Activation::Relu, false));
  operation.cases.push_back(kept_case(5, 3, 700, Activation::Tanh, true));
  operation.cases.push_back(slopes_case(5, 3, 700, Activation::GeluErf));  // long sums, which may be split
  check(operation);
}

}  // namespace heed::train_tests

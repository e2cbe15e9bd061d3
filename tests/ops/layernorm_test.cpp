#include <cmath>

#include "catch.hpp"
#include "ops/norm_cases.hpp"

namespace heed::ops {
namespace {

Case rows_case(const Rows& r) {
  return {text_of(r), [r](Trial& t) {
            Tensor x = t.input("x", shape_of(r.shape)), gamma, beta;
            Run& run = t.run();
            Array v = run.input("x", uniform(r.shape, 41, r.center - r.spread, r.center + r.spread));
            Array g = uniform({r.shape.back()}, 42, 0.5, 1.5), b = uniform({r.shape.back()}, 43);
            if (r.gamma) gamma = t.weight("gamma", &g);
            if (r.beta) beta = t.weight("beta", &b);
            if (r.residual) {
              x = t.graph.add(x, t.input("r", shape_of(r.shape)));
              v = t.stored(add(v, run.input("r", uniform(r.shape, 44, -r.spread, r.spread))));
            }
            t.graph.output("y", t.graph.layernorm(x, gamma, beta, static_cast<float>(r.eps)));
            const double eps = static_cast<double>(static_cast<float>(r.eps));
            const Array y = layernorm(v, r.gamma ? &g : nullptr, r.beta ? &b : nullptr, eps);
            // The mean's rounding moves the whole row by u |mean| deviations.
            const double shift = r.center / r.spread;
            run.expect("y", y, 64.0 + 4.0 * shift * shift, r.residual ? 2 : 1);
            t.passes = {"layernorm"};
          }};
}

// Rows of mean 10,000 and deviation 1 must be within 1e-3, where E[x^2] - mean^2 gives NaN.
Case far_case(int64_t n) {
  return {"mean 10,000, deviation 1, length " + std::to_string(n), [n](Trial& t) {
            // Such rows have no meaning in two bytes, where the step is 8 or 64.
            if (t.dtype != DType::F32) return;
            const Tensor x = t.input("x", {4, n});
            t.graph.output("y", t.graph.layernorm(x, {}, {}, 1e-5f));
            Run& run = t.run();
            const double half_width = std::sqrt(3.0);  // of a uniform distribution of deviation 1
            Array y = layernorm(run.input("x", uniform({4, n}, 45, 10000 - half_width, 10000 + half_width)), nullptr,
                                nullptr, 1e-5);
            for (double& bound : y.bound) bound = 1e-3;
            run.expect("y", y, 1e8);
          }};
}

// Equal values: the variance is 0, and the result is beta.
Case constant_case(double value) {
  return {"constant rows of " + std::to_string(value), [value](Trial& t) {
            const Tensor x = t.input("x", {3, 300});
            Array b = uniform({300}, 46);
            t.graph.output("y", t.graph.layernorm(x, {}, t.weight("beta", &b), 1e-5f));
            Run& run = t.run();
            const Array v = run.input("x", filled({3, 300}, value));
            run.expect("y", layernorm(v, nullptr, &b, 1e-5), 1e6);
          }};
}

Case extents_case() {
  return {"extents and a permuted view", [](Trial& t) {
            const Dim b = t.graph.extent("b", 4), s = t.graph.extent("s", 9);
            const Tensor x = t.input("x", {b, 33, s});
            t.graph.output("y", t.graph.layernorm(t.graph.transpose(x, 1, 2), {}, {}, 1e-5f));
            for (const auto& e : {std::array<int64_t, 2>{4, 9}, {1, 1}, {3, 2}}) {
              Run& run = t.run({{"b", e[0]}, {"s", e[1]}});
              const Array v = transposed(run.input("x", uniform({e[0], 33, e[1]}, 47)));
              run.expect("y", layernorm(v, nullptr, nullptr, static_cast<double>(1e-5f)), 64.0);
            }
          }};
}

Operation layernorm_operation() {
  Operation operation{"layernorm", {}};
  for (const Rows& rows : awkward_rows()) operation.cases.push_back(rows_case(rows));
  operation.cases.push_back(rows_case({{5, 200}, 100.0, 1.0}));
  operation.cases.push_back(rows_case({{5, 200}, 0.0, 3e4}));
  for (const int64_t n : {64, 768, 1000, 9001}) operation.cases.push_back(far_case(n));
  operation.cases.push_back(constant_case(1.0));
  operation.cases.push_back(constant_case(0.0));
  operation.cases.push_back(constant_case(777.0));
  operation.cases.push_back(extents_case());
  return operation;
}

}  // namespace

TEST_CASE("layernorm on every device", "[ops]") { check(layernorm_operation()); }

}  // namespace heed::ops

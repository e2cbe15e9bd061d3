// layernorm and rmsnorm.
#include "harness/catch.hpp"
#include "harness/trial.hpp"

namespace heed::ops {
namespace {

struct Rows {
  Sizes shape;
  double center = 0.0, spread = 1.0;  // values are center +- spread, uniformly
  bool gamma = true, beta = true, residual = false;
  double eps = 1e-5;
  bool wide = false;    // values that f16 does not have
  bool behind = false;  // adds a residual to the result
};

std::vector<Rows> awkward_rows() {
  std::vector<Rows> rows;
  for (const int64_t n : {1, 2, 3, 7, 8, 31, 32, 33, 63, 64, 65, 127, 128, 129, 257, 768, 1023, 1025, 4097, 9001})
    rows.push_back({{3, n}});
  rows.push_back({{2, 70000}});
  rows.push_back({{70001, 3}});
  rows.push_back({{2, 3, 5, 40}});
  rows.push_back({{40}});
  rows.push_back({{5, 100}, 0.0, 1.0, false, false});
  rows.push_back({{5, 100}, 0.0, 1.0, true, false});
  rows.push_back({{5, 100}, 0.0, 1.0, true, true, true});
  rows.push_back({{5, 1000}, 3.0, 0.5, false, false, true});
  for (const int64_t n : {7, 384, 2049}) rows.push_back({.shape = {2, 3, n}, .behind = true});
  rows.push_back({{5, 100}, 0.0, 1e-4, true, true, false, 1e-12});
  rows.push_back({{5, 100}, 0.0, 1.0, true, true, false, 0.5});
  for (const int64_t n : {3, 40, 256, 4096, 9001})
    for (const double spread : {3e18, 1e19, 1e25, 1e-17, 1e-19, 1e-25})
      rows.push_back({{3, n}, 0.0, spread, n > 40, n > 40, n == 256, spread < 1.0 && n == 3 ? 1e-30 : 0.0, true});
  rows.push_back({{3, 100}, 0.0, 1e-25, true, true, false, 1e-5, true});  // eps dominates
  rows.push_back({{3, 100}, 0.0, 1e25, true, true, false, 1e-5, true});
  return rows;
}

std::string short_text(double x) {
  char text[32];
  std::snprintf(text, sizeof text, "%g", x);
  return text;
}

std::string text_of(const Rows& r) {
  return ops::text_of(r.shape) + (r.gamma ? " gamma" : "") + (r.beta ? " beta" : "") + (r.residual ? " residual" : "") +
         (r.behind ? " added behind" : "") + " mean " + short_text(r.center) + " spread " + short_text(r.spread) +
         " eps " + short_text(r.eps);
}

Case rows_case(Rows r, bool rms = false) {
  if (rms) r.beta = false;
  return {text_of(r),
          [=](Trial& t) {
            if (r.wide && t.dtype == DType::F16) return;
            const uint64_t seed = rms ? 51 : 41;
            Tensor x = t.input("x", shape_of(r.shape)), gamma, beta;
            Run& run = t.run();
            Array v = run.input("x", uniform(r.shape, seed, r.center - r.spread, r.center + r.spread));
            Array g = uniform({r.shape.back()}, seed + 1, 0.5, 1.5), b = uniform({r.shape.back()}, seed + 2);
            if (r.gamma) gamma = t.weight("gamma", &g);
            if (r.beta) beta = t.weight("beta", &b);
            if (r.residual) {
              x = t.graph.add(x, t.input("r", shape_of(r.shape)));
              v = t.stored(add(v, run.input("r", uniform(r.shape, seed + 3, -r.spread, r.spread))));
            }
            const float eps = static_cast<float>(r.eps);
            Tensor out = rms ? t.graph.rmsnorm(x, gamma, eps) : t.graph.layernorm(x, gamma, beta, eps);
            const Array *scale = r.gamma ? &g : nullptr, *offset = r.beta ? &b : nullptr;
            Array y = rms ? rmsnorm(v, scale, double{eps}) : layernorm(v, scale, offset, double{eps});
            if (r.behind) {
              out = t.graph.add(t.input("s", shape_of(r.shape)), out);
              y = add(t.stored(y), run.input("s", uniform(r.shape, seed + 4)));
            }
            t.graph.output("y", out);
            // The mean's rounding shifts the whole row by u |mean| / deviation.
            const double shift = rms ? 0 : r.center / r.spread;
            run.expect("y", y, 64.0 + 4.0 * shift * shift, r.residual ? 2 : 1);
            t.passes = {rms ? "rmsnorm" : "layernorm"};
          },
          r.wide};
}

// Rows of mean 10,000 and deviation 1 must be within 1e-3. E[x^2] - mean^2 would give NaN.
Case far_case(int64_t n) {
  return {"mean 10,000, deviation 1, length " + std::to_string(n), [n](Trial& t) {
            // Around 10,000, 16-bit values are 8 or 64 apart, so that these rows need f32.
            if (t.dtype != DType::F32) return;
            const Tensor x = t.input("x", {4, n});
            t.graph.output("y", t.graph.layernorm(x, {}, {}, 1e-5f));
            Run& run = t.run();
            const double half_width = std::sqrt(3.0);  // half-width of a uniform distribution of deviation 1
            Array y = layernorm(run.input("x", uniform({4, n}, 45, 10000 - half_width, 10000 + half_width)), nullptr,
                                nullptr, 1e-5);
            for (double& bound : y.bound) bound = 1e-3;
            run.expect("y", y, 1e8);
          }};
}

Case nan_case(bool rms) {
  return {"NaN", [rms](Trial& t) {
            const Tensor x = t.input("x", {2, 4});
            t.graph.output("y", rms ? t.graph.rmsnorm(x, {}, 1e-5f) : t.graph.layernorm(x, {}, {}, 1e-5f));
            Run& run = t.run();
            run.input("x", values({2, 4}, {0, 1, 0, NAN, NAN, 1, 2, 3}));
            run.expect_within("y", filled({2, 4}, NAN), t.dtype);
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

}  // namespace

TEST_CASE("layernorm on every device", "[ops]") {
  Operation operation{"layernorm", {}};
  for (const Rows& rows : awkward_rows()) operation.cases.push_back(rows_case(rows));
  operation.cases.push_back(rows_case({{5, 200}, 100.0, 1.0}));
  operation.cases.push_back(rows_case({{5, 200}, 0.0, 3e4}));
  for (const int64_t n : {64, 768, 1000, 9001}) operation.cases.push_back(far_case(n));
  operation.cases.push_back(constant_case(1.0));
  operation.cases.push_back(constant_case(0.0));
  operation.cases.push_back(constant_case(777.0));
  operation.cases.push_back(nan_case(false));
  operation.cases.push_back(extents_case());
  check(operation);
}

TEST_CASE("rmsnorm on every device", "[ops]") {
  Operation operation{"rmsnorm", {}};
  for (const Rows& rows : awkward_rows()) operation.cases.push_back(rows_case(rows, true));
  operation.cases.push_back(rows_case({{5, 200}, 1000.0, 1.0}, true));
  operation.cases.push_back(rows_case({{5, 200}, 0.0, 0.0}, true));  // zeros stay zeros
  operation.cases.push_back(nan_case(true));
  check(operation);
}

}  // namespace heed::ops

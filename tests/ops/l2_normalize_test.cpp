#include "harness/catch.hpp"
#include "harness/trial.hpp"

namespace heed::ops {
namespace {

Case rows_case(const Sizes& shape, double magnitude = 1.0, double eps = 1e-12) {
  const bool wide = magnitude > 6e4 || (magnitude > 0.0 && magnitude < 1e-4);  // f16 cannot represent the values
  return {text_of(shape) + " to " + std::to_string(magnitude),
          [=](Trial& t) {
            if (wide && t.dtype == DType::F16) return;
            const auto own_eps = static_cast<float>(eps);
            t.graph.output("y", t.graph.l2_normalize(t.input("x", shape_of(shape)), own_eps));
            Run& run = t.run();
            const Array v = run.input("x", uniform(shape, 131, -magnitude, magnitude));
            run.expect("y", l2_normalize(v, static_cast<double>(own_eps)), 64.0);
            t.passes = {"l2_normalize"};
          },
          wide};
}

Case nan_case() {
  return {"NaN, and zeros without eps", [](Trial& t) {
            t.graph.output("y", t.graph.l2_normalize(t.input("x", {3, 4}), 0.0f));
            Run& run = t.run();
            run.input("x", values({3, 4}, {NAN, 1, 0, 2, 0, 0, 0, 0, 0, 3, 4, 0}));
            Array y = values({3, 4}, {NAN, NAN, NAN, NAN, 0, 0, 0, 0, 0, 0.6, 0.8, 0});
            for (int64_t i = 0; i < y.size(); ++i) y.err(i) = std::isnan(y.at(i)) ? 0.0 : 8.0 * kUnit;
            run.expect_within("y", t.stored(y), t.dtype);
          }};
}

}  // namespace

TEST_CASE("l2_normalize on every device", "[ops]") {
  Operation operation{"l2_normalize", {}};
  for (const int64_t n : {1, 2, 31, 33, 64, 65, 129, 768, 1025, 9001}) operation.cases.push_back(rows_case({3, n}));
  operation.cases.push_back(rows_case({2, 70000}));
  operation.cases.push_back(rows_case({70001, 3}));
  operation.cases.push_back(rows_case({2, 3, 4, 5}));
  operation.cases.push_back(rows_case({40}));
  operation.cases.push_back(rows_case({3, 40}, 0.0));  // zeros stay zeros
  operation.cases.push_back(rows_case({3, 40}, 1e-3, 1.0));
  operation.cases.push_back(rows_case({3, 40}, 5e4));
  for (const int64_t n : {3, 40, 256, 4096, 9001})
    for (const double magnitude : {3e18, 1e19, 1e25, 3e38, 1e-17, 1e-19, 1e-25})
      operation.cases.push_back(rows_case({3, n}, magnitude, magnitude < 1.0 ? 1e-30 : 1e-12));
  operation.cases.push_back(nan_case());
  check(operation);
}

}  // namespace heed::ops

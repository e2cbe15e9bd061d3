#include <limits>

#include "harness/catch.hpp"
#include "harness/trial.hpp"

namespace heed::ops {
namespace {

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

// Logits between -range and range.
Case rows_case(const Sizes& shape, double range) {
  return {text_of(shape) + " within " + std::to_string(range), [=](Trial& t) {
            t.graph.output("y", t.graph.log_softmax(t.input("x", shape_of(shape))));
            Run& run = t.run();
            run.expect("y", log_softmax(run.input("x", uniform(shape, 181, -range, range))), 64.0);
            t.passes = {"log_softmax"};
          }};
}

// Logits of minus infinity, rows of nothing else, infinite and NaN logits.
Case strange_case() {
  return {"infinities", [](Trial& t) {
            t.graph.output("y", t.graph.log_softmax(t.input("x", {6, 3})));
            Run& run = t.run();
            const Array x =
                run.input("x", values({6, 3}, {1, -kInfinity, 2, -kInfinity, -kInfinity, -kInfinity, kInfinity, 0, 1, 0,
                                               kNaN, 1, -kInfinity, kNaN, -kInfinity, kInfinity, -kInfinity, kNaN}));
            run.expect_within("y", stored(t.dtype, log_softmax(x)), t.dtype);
          }};
}

// Rows with gaps between elements.
Case extents_case() {
  return {"extents", [](Trial& t) {
            const Dim m = t.graph.extent("m", 9), n = t.graph.extent("n", 300);
            t.graph.output("y", t.graph.log_softmax(t.graph.transpose(t.input("x", {n, m}), 0, 1)));
            for (const auto& e : {std::array<int64_t, 2>{9, 300}, {1, 1}, {4, 129}}) {
              Run& run = t.run({{"m", e[0]}, {"n", e[1]}});
              run.expect("y", log_softmax(transposed(run.input("x", uniform({e[1], e[0]}, 183, -8, 8)))), 64.0);
            }
          }};
}

}  // namespace

TEST_CASE("log_softmax on every device", "[ops]") {
  Operation operation{"log_softmax", {}};
  for (const int64_t n : {1, 2, 7, 31, 33, 64, 129, 257, 1025, 9001})
    operation.cases.push_back(rows_case({5, n}, 12.0));
  operation.cases.push_back(rows_case({9, 300}, 3e4));
  operation.cases.push_back(rows_case({2, 70000}, 20.0));
  operation.cases.push_back(rows_case({70001, 3}, 5.0));
  operation.cases.back().many_groups = true;
  operation.cases.push_back(rows_case({2, 3, 4, 5, 50}, 8.0));
  operation.cases.push_back(rows_case({40}, 8.0));
  operation.cases.push_back(strange_case());
  operation.cases.push_back(extents_case());
  check(operation);
}

}  // namespace heed::ops

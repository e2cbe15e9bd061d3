#include "harness/catch.hpp"
#include "harness/trial.hpp"

namespace heed::ops {
namespace {

// Values come from a small set, so that most rows have ties. The first of the largest elements is the result.
Case rows_case(const Sizes& shape, int64_t different) {
  return {text_of(shape) + " of " + std::to_string(different) + " values", [=](Trial& t) {
            t.graph.output("y", t.graph.argmax(t.input("x", shape_of(shape))));
            Run& run = t.run();
            const Array v = run.input("x", whole_numbers(shape, 161, -different / 2, different / 2 + 1));
            run.expect_exact("y", argmax(v), DType::I32);
            t.passes = {"argmax"};
          }};
}

Case infinities_case() {
  return {"infinities", [](Trial& t) {
            t.graph.output("y", t.graph.argmax(t.input("x", {4, 3})));
            Run& run = t.run();
            const Array v = run.input("x", values({4, 3}, {-kInfinity, -kInfinity, -kInfinity, -kInfinity, -5, -7, 1,
                                                           kInfinity, kInfinity, -kInfinity, 0, -kInfinity}));
            run.expect_exact("y", argmax(v), DType::I32);
          }};
}

Case extents_case() {
  return {"extents", [](Trial& t) {
            const Dim m = t.graph.extent("m", 9), n = t.graph.extent("n", 300);
            t.graph.output("y", t.graph.argmax(t.graph.transpose(t.input("x", {n, m}), 0, 1)));
            for (const auto& e : {std::array<int64_t, 2>{9, 300}, {1, 1}, {4, 129}}) {
              Run& run = t.run({{"m", e[0]}, {"n", e[1]}});
              run.expect_exact("y", argmax(transposed(run.input("x", whole_numbers({e[1], e[0]}, 162, 0, 50)))),
                               DType::I32);
            }
          }};
}

}  // namespace

TEST_CASE("argmax on every device", "[ops]") {
  Operation operation{"argmax", {}};
  for (const int64_t n : {1, 2, 7, 31, 33, 64, 129, 257, 1025, 9001})
    for (const int64_t different : {2, 1000}) operation.cases.push_back(rows_case({5, n}, different));
  operation.cases.push_back(rows_case({2, 70000}, 1000));
  operation.cases.push_back(rows_case({70001, 3}, 2));
  operation.cases.push_back(rows_case({2, 3, 4, 50}, 8));
  operation.cases.push_back(infinities_case());
  operation.cases.push_back(extents_case());
  check(operation);
}

}  // namespace heed::ops

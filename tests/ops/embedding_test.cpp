#include "harness/catch.hpp"
#include "harness/trial.hpp"

namespace heed::ops {
namespace {

Case lookup_case(int64_t rows, int64_t width, const Sizes& ids_shape) {
  return {text_of({rows, width}) + " ids " + text_of(ids_shape), [=](Trial& t) {
            Array table = uniform({rows, width}, 81);
            const Tensor weight = t.weight("table", &table);
            const Tensor ids = t.graph.input("ids", shape_of(ids_shape), DType::I32);
            t.graph.output("y", t.graph.embedding(weight, ids, t.dtype));
            Run& run = t.run();
            const Array v = run.input("ids", whole_numbers(ids_shape, 82, 0, rows), DType::I32);
            run.expect_exact("y", embedding(table, v), t.dtype);
            t.passes = {"embedding"};
          }};
}

// An id outside of the table gives a row of zeros and an error status. Other rows are correct.
Case outside_case(std::vector<double> ids, const std::string& first_bad) {
  return {"outside of the table: " + first_bad, [=](Trial& t) {
            Array table = uniform({7, 33}, 83);
            const Sizes shape = {static_cast<int64_t>(ids.size())};
            t.graph.output("y", t.graph.embedding(t.weight("table", &table),
                                                  t.graph.input("ids", shape_of(shape), DType::I32), t.dtype));
            Run& bad = t.run();
            const Array v = bad.input("ids", values(shape, ids), DType::I32);
            bad.expect_exact("y", embedding(table, v), t.dtype);
            bad.status = Status::IndexOutOfRange;
            bad.message = "embedding";
            Run& good = t.run();  // the error does not persist
            const Array zeros = good.input("ids", filled(shape, 0.0), DType::I32);
            good.expect_exact("y", embedding(table, zeros), t.dtype);
          }};
}

Case extents_case() {
  return {"extents", [](Trial& t) {
            Array table = uniform({50, 17}, 84);
            const Dim b = t.graph.extent("b", 3), s = t.graph.extent("s", 40);
            t.graph.output(
                "y", t.graph.embedding(t.weight("table", &table), t.graph.input("ids", {b, s}, DType::I32), t.dtype));
            for (const auto& e : {std::array<int64_t, 2>{3, 40}, {1, 1}, {2, 13}}) {
              Run& run = t.run({{"b", e[0]}, {"s", e[1]}});
              run.expect_exact(
                  "y", embedding(table, run.input("ids", whole_numbers({e[0], e[1]}, 85, 0, 50), DType::I32)), t.dtype);
            }
          }};
}

}  // namespace

TEST_CASE("embedding on every device", "[ops]") {
  Operation operation{"embedding", {}};
  for (const int64_t width : {1, 2, 3, 31, 33, 64, 127, 129, 768})
    operation.cases.push_back(lookup_case(11, width, {2, 5}));
  operation.cases.push_back(lookup_case(1, 5, {7}));
  operation.cases.push_back(lookup_case(30000, 4, {2, 3, 5, 7}));
  operation.cases.push_back(lookup_case(5, 3, {70001}));
  operation.cases.push_back(lookup_case(2, 9001, {3}));
  operation.cases.push_back(outside_case({0, 1, -1, 6, 7, 2}, "-1"));
  operation.cases.push_back(outside_case({7}, "7"));
  operation.cases.push_back(outside_case({3, 2147483647, 4}, "2147483647"));
  operation.cases.push_back(outside_case({-2147483648.0, 4}, "-2147483648"));
  operation.cases.push_back(extents_case());
  check(operation);
}

}  // namespace heed::ops

#include "harness/catch.hpp"
#include "harness/trial.hpp"

namespace heed::ops {
namespace {

Case mean_case(const Sizes& shape, int axis, bool masked = false, bool keep = false) {
  return {text_of(shape) + " axis " + std::to_string(axis) + (masked ? keep ? " keep" : " exclude" : ""),
          [=](Trial& t) {
            const Tensor x = t.input("x", shape_of(shape));
            Run& run = t.run();
            const Array v = run.input("x", uniform(shape, 121, -1.0, 3.0));
            Mask mask;
            Array m;
            if (masked) {
              m = uniform({shape[0], shape[1]}, 122);
              for (int64_t i = 0; i < m.size(); ++i)  // in batch 1 nothing is kept
                m.at(i) = (m.at(i) < 0.0 || i / shape[1] == 1) == keep ? 0.0 : static_cast<double>(i % 200 + 1);
              m = run.input("mask", m, DType::U8);
              const Tensor tensor = t.graph.input("mask", {shape[0], shape[1]}, DType::U8);
              mask = keep ? heed::keep(tensor) : exclude(tensor);
            }
            t.graph.output("y", t.graph.mean(x, axis, mask));
            const auto n = static_cast<double>(shape[static_cast<size_t>(axis)]);
            run.expect("y", mean(v, axis, masked ? &m : nullptr, keep), n);
          }};
}

Case extents_case() {
  return {"extents", [](Trial& t) {
            const Dim b = t.graph.extent("b", 3), s = t.graph.extent("s", 40);
            const Tensor x = t.input("x", {b, s, 17}), mask = t.graph.input("mask", {b, s}, DType::U8);
            t.graph.output("y", t.graph.mean(x, 1, heed::keep(mask)));
            for (const auto& e : {std::array<int64_t, 2>{3, 40}, {1, 1}, {2, 39}}) {
              Run& run = t.run({{"b", e[0]}, {"s", e[1]}});
              const Array v = run.input("x", uniform({e[0], e[1], 17}, 123));
              const Array m = run.input("mask", whole_numbers({e[0], e[1]}, 124, 0, 2), DType::U8);
              run.expect("y", mean(v, 1, &m, true), 40.0);
            }
          }};
}

}  // namespace

TEST_CASE("mean on every device", "[ops]") {
  Operation operation{"mean", {}};
  for (const int64_t n : {1, 2, 31, 33, 128, 129, 1000})
    for (const int64_t c : {1, 65}) operation.cases.push_back(mean_case({3, n, c}, 1));
  operation.cases.push_back(mean_case({2, 9001, 3}, 1));
  operation.cases.push_back(mean_case({2, 3, 1031}, 1));
  operation.cases.push_back(mean_case({70001, 2, 1}, 1));
  operation.cases.push_back(mean_case({5, 7}, 0));
  operation.cases.push_back(mean_case({5, 7}, 1));
  operation.cases.push_back(mean_case({3, 4, 5, 6}, 0));
  operation.cases.push_back(mean_case({3, 4, 5, 6}, 2));
  operation.cases.push_back(mean_case({3, 4, 5, 6}, 3));
  for (const bool keep : {false, true})
    for (const Sizes& shape : {Sizes{3, 37, 33}, Sizes{2, 1, 5}, Sizes{4, 300, 2}, Sizes{3, 9}, Sizes{2, 7, 3, 5}})
      operation.cases.push_back(mean_case(shape, 1, true, keep));
  operation.cases.push_back(extents_case());
  check(operation);
}

}  // namespace heed::ops

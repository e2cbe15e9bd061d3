#include "harness/catch.hpp"
#include "harness/trial.hpp"

namespace heed::ops {
namespace {

Case parts_case(const std::vector<Sizes>& shapes, int axis) {
  std::string name = std::string("axis ").append(std::to_string(axis));
  for (const Sizes& shape : shapes) name.append(" ").append(text_of(shape));
  return {name, [=](Trial& t) {
            Run& run = t.run();
            std::vector<Tensor> tensors;
            std::vector<Array> arrays;
            for (size_t i = 0; i < shapes.size(); ++i) {
              const std::string input = std::string("x").append(std::to_string(i));
              tensors.push_back(t.graph.input(input, shape_of(shapes[i]), t.dtype));
              arrays.push_back(run.input(input, uniform(shapes[i], 141 + i)));
            }
            t.graph.output("y", t.graph.concat(tensors, axis));
            run.expect_exact("y", concat(arrays, axis), t.dtype);
          }};
}

// Inputs with extents and views, joined along the extent.
Case extents_case() {
  return {"extents and a view", [](Trial& t) {
            const Dim s = t.graph.extent("s", 20), c = t.graph.extent("c", 30);
            const Tensor cache = t.input("cache", {2, c, 5}), fresh = t.input("fresh", {2, 5, s});
            t.graph.output("y", t.graph.concat({cache, t.graph.transpose(fresh, 1, 2)}, 1));
            for (const auto& e : {std::array<int64_t, 2>{20, 30}, {1, 1}, {1, 29}, {13, 4}}) {
              Run& run = t.run({{"s", e[0]}, {"c", e[1]}});
              const Array a = run.input("cache", uniform({2, e[1], 5}, 151)),
                          b = run.input("fresh", uniform({2, 5, e[0]}, 152));
              run.expect_exact("y", concat({a, transposed(b)}, 1), t.dtype);
            }
          }};
}

}  // namespace

TEST_CASE("concat on every device", "[ops]") {
  Operation operation{"concat", {}};
  for (const int axis : {0, 1, 2}) {
    Sizes a = {3, 4, 5}, b = a, c = a;
    b[static_cast<size_t>(axis)] = 1;
    c[static_cast<size_t>(axis)] = 33;
    operation.cases.push_back(parts_case({a, b, c}, axis));
  }
  operation.cases.push_back(parts_case({{7}, {1}}, 0));
  operation.cases.push_back(parts_case({{70001, 1}, {70001, 2}}, 1));
  operation.cases.push_back(parts_case({{9001}, {3}}, 0));
  operation.cases.push_back(parts_case(std::vector<Sizes>(8, {2, 3}), 1));
  operation.cases.push_back(parts_case(std::vector<Sizes>(19, {2, 3}), 0));  // more inputs than one node holds
  operation.cases.push_back(extents_case());
  check(operation);
}

}  // namespace heed::ops

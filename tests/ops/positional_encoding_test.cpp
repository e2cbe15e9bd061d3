#include "harness/catch.hpp"
#include "harness/trial.hpp"

namespace heed::ops {
namespace {

Case encoding_case(const Sizes& shape) {
  return {text_of(shape), [shape](Trial& t) {
            t.graph.output("y", t.graph.positional_encoding(t.input("x", shape_of(shape))));
            Run& run = t.run();
            const Array v = run.input("x", uniform(shape, 91));
            const Array table = t.stored(sinusoids(v.dim(1), v.dim(0)));
            run.expect("y", add(v, table), 16.0, 2);
          }};
}

Case extents_case() {
  return {"extents", [](Trial& t) {
            const Dim b = t.graph.extent("b", 3), s = t.graph.extent("s", 100);
            t.graph.output("y", t.graph.positional_encoding(t.input("x", {b, s, 12})));
            for (const auto& e : {std::array<int64_t, 2>{3, 100}, {1, 1}, {2, 37}}) {
              Run& run = t.run({{"b", e[0]}, {"s", e[1]}});
              const Array v = run.input("x", uniform({e[0], e[1], 12}, 92));
              run.expect("y", add(v, t.stored(sinusoids(e[1], 12))), 16.0, 2);
            }
          }};
}

}  // namespace

TEST_CASE("positional_encoding on every device", "[ops]") {
  Operation operation{"positional_encoding", {}};
  for (const Sizes& shape : {Sizes{1, 2}, Sizes{7, 4}, Sizes{2, 33, 64}, Sizes{2, 3, 129, 6}, Sizes{1, 1000, 30}})
    operation.cases.push_back(encoding_case(shape));
  operation.cases.push_back(extents_case());
  check(operation);
}

}  // namespace heed::ops

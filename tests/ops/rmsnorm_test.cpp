#include "catch.hpp"
#include "ops/norm_cases.hpp"

namespace heed::ops {
namespace {

Case rows_case(const Rows& r) {
  return {text_of(r), [r](Trial& t) {
            Tensor x = t.input("x", shape_of(r.shape)), gamma;
            Run& run = t.run();
            Array v = run.input("x", uniform(r.shape, 51, r.center - r.spread, r.center + r.spread));
            Array g = uniform({r.shape.back()}, 52, 0.5, 1.5);
            if (r.gamma) gamma = t.weight("gamma", &g);
            if (r.residual) {
              x = t.graph.add(x, t.input("r", shape_of(r.shape)));
              v = t.stored(add(v, run.input("r", uniform(r.shape, 53, -r.spread, r.spread))));
            }
            t.graph.output("y", t.graph.rmsnorm(x, gamma, static_cast<float>(r.eps)));
            const double eps = static_cast<double>(static_cast<float>(r.eps));
            run.expect("y", rmsnorm(v, r.gamma ? &g : nullptr, eps), 64.0, r.residual ? 2 : 1);
            t.passes = {"rmsnorm"};
          }};
}

Operation rmsnorm_operation() {
  Operation operation{"rmsnorm", {}};
  for (Rows rows : awkward_rows()) {
    rows.beta = false;
    operation.cases.push_back(rows_case(rows));
  }
  operation.cases.push_back(rows_case({{5, 200}, 1000.0, 1.0, true, false}));
  operation.cases.push_back(rows_case({{5, 200}, 0.0, 0.0, true, false}));  // zeros stay zeros
  return operation;
}

}  // namespace

TEST_CASE("rmsnorm on every device", "[ops]") { check(rmsnorm_operation()); }

}  // namespace heed::ops

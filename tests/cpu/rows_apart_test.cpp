// Rows of a plan's own tensors that would collide in the first-level cache, because their distance is a multiple of 4 KiB, are padded. Rows
// of a host's tensors are packed instead: see accuracy_test.cpp and narrow_weights_test.cpp.
#include "cpu/support.hpp"

namespace heed::cpu_test {

TEST_CASE("rows of 1,024 floats between two products, on every instruction set", "[cpu]") {
  constexpr int64_t kMost = 45, kIn = 19, kHidden = 1024, kOut = 35;
  const std::vector<float> up = floats({kHidden, kIn}, 1), down = floats({kOut, kHidden}, 2),
                           x = floats({kMost, kIn}, 3);
  const ops::Array w_up = ops::transposed(ops::uniform({kHidden, kIn}, 1, -1, 1)),
                   w_down = ops::transposed(ops::uniform({kOut, kHidden}, 2, -1, 1));
  on_every_set([&](Device& device, const char* set) {
    Graph g;
    const Dim rows = g.extent("rows", kMost);
    const Tensor h = g.activation(g.linear(g.input("x", {rows, kIn}), g.constant("up", {kHidden, kIn}, std::span(up))),
                                  Activation::Relu);
    g.output("y", g.linear(h, g.constant("down", {kOut, kHidden}, std::span(down))));
    Plan plan = test::compiled(device, g);
    for (const int64_t count : {int64_t{1}, int64_t{8}, int64_t{13}, kMost}) {
      INFO(set << ", " << count << " rows");
      const ops::Array some = ops::slice(ops::uniform({kMost, kIn}, 3, -1, 1), 0, 0, count);
      const ops::Array middle = ops::activation(ops::matmul(some, w_up), Activation::Relu);
      const std::vector<double> wanted = ops::matmul(middle, w_down).value;
      std::vector<float> y(static_cast<size_t>(count * kOut));
      REQUIRE(plan.run({{"x", std::span(x).first(static_cast<size_t>(count * kIn))}, {"y", y}}, {{"rows", count}}) ==
              Status::Ok);
      for (size_t i = 0; i < y.size(); ++i) {
        INFO("element " << i);
        REQUIRE(std::abs(static_cast<double>(y[i]) - wanted[i]) < 2e-3);
      }
    }
  });
}

}  // namespace heed::cpu_test

// Rows of a plan's own tensors whose distance would be a multiple of 4 KiB, which collide in the first cache and are moved
// apart. A host's are packed: see accuracy_test.cpp and narrow_weights_test.cpp.
#include "catch.hpp"
#include "cpu/kernels.hpp"
#include "cpu/support.hpp"
#include "environment.hpp"

namespace heed::cpu_test {

TEST_CASE("rows of 1,024 floats between two products, on every instruction set", "[cpu]") {
  constexpr int64_t kMost = 45, kIn = 19, kHidden = 1024, kOut = 35;
  const std::vector<float> up = floats({kHidden, kIn}, 1), down = floats({kOut, kHidden}, 2),
                           x = floats({kMost, kIn}, 3);
  const ops::Array w_up = ops::transposed(ops::uniform({kHidden, kIn}, 1, -1, 1)),
                   w_down = ops::transposed(ops::uniform({kOut, kHidden}, 2, -1, 1));
  for (const cpu::Kernels& kernels : cpu::supported_kernels()) {
    const test::SetVariable target("HEED_CPU_TARGET", kernels.name);
    Device device;
    REQUIRE(Device::open({.select = "cpu", .threads = 2}, &device) == Status::Ok);
    Graph g;
    const Dim rows = g.extent("rows", kMost);
    const Tensor h = g.activation(g.linear(g.input("x", {rows, kIn}), g.constant("up", {kHidden, kIn}, std::span(up))),
                                  Activation::Relu);
    g.output("y", g.linear(h, g.constant("down", {kOut, kHidden}, std::span(down))));
    Plan plan;
    REQUIRE(device.compile(g, {}, &plan) == Status::Ok);
    for (const int64_t count : {int64_t{1}, int64_t{8}, int64_t{13}, kMost}) {
      INFO(kernels.name << ", " << count << " rows");
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
  }
}

}  // namespace heed::cpu_test

// Rows whose distance is a multiple of 4 KiB collide in the first cache: the plan's own are moved apart, and a host's packed.
#include "catch.hpp"
#include "cpu/kernels.hpp"
#include "cpu/support.hpp"
#include "environment.hpp"

namespace heed::cpu_test {
namespace {

using ops::Array;

// out[i][j] = sum of a[i][p] w[j][p], in double.
std::vector<double> product(const std::vector<double>& a, const std::vector<float>& w, int64_t m, int64_t n,
                            int64_t k) {
  std::vector<double> out(static_cast<size_t>(m * n));
  for (int64_t i = 0; i < m; ++i)
    for (int64_t j = 0; j < n; ++j)
      for (int64_t p = 0; p < k; ++p)
        out[static_cast<size_t>(i * n + j)] +=
            a[static_cast<size_t>(i * k + p)] * static_cast<double>(w[static_cast<size_t>(j * k + p)]);
  return out;
}

}  // namespace

TEST_CASE("rows of 1,024 floats between two products, on every instruction set", "[cpu]") {
  constexpr int64_t kMost = 45, kIn = 19, kHidden = 1024, kOut = 35;
  const std::vector<float> up = floats({kHidden, kIn}, 1), down = floats({kOut, kHidden}, 2),
                           x = floats({kMost, kIn}, 3);
  for (const cpu::Kernels& kernels : cpu::supported_kernels()) {
    const test::SetVariable target("HEED_CPU_TARGET", kernels.name);
    Device device;
    REQUIRE(Device::open({.select = "cpu", .threads = 2}, &device) == Status::Ok);
    Graph g;
    const Dim rows = g.extent("rows", kMost);
    const Tensor h =
        g.activation(g.linear(g.input("x", {rows, kIn}), g.constant("up", {kHidden, kIn}, std::span(up))),
                     Activation::Relu);
    g.output("y", g.linear(h, g.constant("down", {kOut, kHidden}, std::span(down))));
    Plan plan;
    REQUIRE(device.compile(g, {}, &plan) == Status::Ok);
    for (const int64_t count : {int64_t{1}, int64_t{8}, int64_t{13}, kMost}) {
      INFO(kernels.name << ", " << count << " rows");
      std::vector<double> middle = product({x.begin(), x.begin() + count * kIn}, up, count, kHidden, kIn);
      for (double& v : middle) v = std::max(v, 0.0);
      const std::vector<double> wanted = product(middle, down, count, kOut, kHidden);
      std::vector<float> y(static_cast<size_t>(count * kOut));
      REQUIRE(plan.run({{"x", std::span(x).first(static_cast<size_t>(count * kIn))}, {"y", y}},
                       {{"rows", count}}) == Status::Ok);
      for (size_t i = 0; i < y.size(); ++i) {
        INFO("element " << i);
        REQUIRE(std::abs(static_cast<double>(y[i]) - wanted[i]) < 2e-3);
      }
    }
  }
}

}  // namespace heed::cpu_test

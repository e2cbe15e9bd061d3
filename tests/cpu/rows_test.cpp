// Results larger than the caches, which are written by streaming stores.

#include "cpu/simd/row_kernels.hpp"
#include "cpu/support.hpp"
#include "hwy/cache_control.h"

namespace heed::cpu_test {
namespace {

constexpr int64_t kWidth = 515;  // only the first row begins at a multiple of a cache line

// A graph with two results, for up to `most` rows.
Graph graph(int64_t most) {
  Graph g;
  const Tensor x = g.input("x", {g.extent("rows", most), kWidth});
  g.output("softmax", g.softmax(x, {.scale = 3.0f}));
  g.output("layernorm", g.layernorm(x, {}, {}, 1e-5f));
  return g;
}

}  // namespace

TEST_CASE("copies past the caches write what they should and nothing else", "[cpu]") {
  for (const cpu::Kernels& kernels : cpu::supported_kernels())
    for (const int64_t n : {0, 1, 5, 16, 37, 130})
      for (int64_t offset = 0; offset < 17; ++offset) {
        INFO(kernels.name << ", " << n << " elements from " << offset);
        const std::vector<float> x = floats({n + 1}, 1);
        std::vector<float> y(200, 7.0f), expected = y;
        std::copy_n(x.begin(), n, expected.begin() + offset);
        kernels.rows->copy_past_caches(x.data(), y.data() + offset, n);
        hwy::FlushStream();
        CHECK(y == expected);
      }
}

TEST_CASE("results larger than caches have the bits of small ones", "[cpu]") {
  constexpr int64_t kFew = 41, kMany = 33000;  // 68 MB
  constexpr size_t kPart = kFew * kWidth;
  const std::vector<float> x = floats({kFew, kWidth}, 2);
  std::vector<float> many_x(kMany * kWidth);
  for (size_t i = 0; i < many_x.size(); ++i) many_x[i] = x[i % kPart];
  Plan plan = test::compiled(test::open_cpu({.threads = 2}), graph(kMany));
  std::vector<float> few[2], many[2];
  for (int i = 0; i < 2; ++i) {
    few[i].resize(kPart);
    many[i].resize(many_x.size());
  }
  REQUIRE(plan.run({{"x", x}, {"softmax", few[0]}, {"layernorm", few[1]}}, {{"rows", kFew}}) == Status::Ok);
  REQUIRE(plan.run({{"x", many_x}, {"softmax", many[0]}, {"layernorm", many[1]}}, {{"rows", kMany}}) == Status::Ok);
  for (int i = 0; i < 2; ++i) {
    size_t wrong = 0;
    for (size_t at = 0; at < many[i].size(); at += kPart) {
      const size_t count = std::min(kPart, many[i].size() - at);
      wrong += std::memcmp(many[i].data() + at, few[i].data(), count * sizeof(float)) != 0;
    }
    INFO("output " << i);
    CHECK(wrong == 0);
  }
}

}  // namespace heed::cpu_test

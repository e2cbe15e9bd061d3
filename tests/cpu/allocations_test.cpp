#include "cpu/support.hpp"
#include "harness/counting.hpp"

namespace heed::cpu_test {

TEST_CASE("run allocates nothing", "[cpu]") {
  for (const uint32_t threads : {1u, 3u}) {
    INFO(threads << " threads");
    Plan plan =
        test::compiled(test::open_cpu({.threads = threads}), network(), {}, {.training = true, .timestamps = true});
    const std::vector<float> x = floats({1, 150, 48}, 9);
    std::vector<float> y(150 * 48), pooled(48);
    std::vector<int32_t> best(150);
    const HostBuffer buffers[] = {{"x", x}, {"y", y}, {"pooled", pooled}, {"best", best}};
    uint64_t made = 0;
    for (const int64_t tokens : {150, 1, 37, 150}) {
      const ExtentValue extents[] = {{"tokens", tokens}};
      const uint64_t before = test::news();
      const Status status = plan.run(buffers, extents, {.seed = 7});
      made += test::news() - before;
      REQUIRE(status == Status::Ok);
    }
    CHECK(made == 0);
    const uint64_t before = test::news();
    CHECK(std::make_unique<int>(5) != nullptr);
    CHECK(test::news() > before);  // the counter counts
  }
}

}  // namespace heed::cpu_test

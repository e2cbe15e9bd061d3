// The times that a plan expects for its passes.
#include "vulkan/recording/pass_times.hpp"

#include "harness/catch.hpp"

using heed::DeviceKind;
using heed::vulkan::PassTimes;

namespace {

bool near(double a, double b) { return std::abs(a - b) <= 1e-5 * std::abs(b); }

}  // namespace

TEST_CASE("pass times: a cost model of a slow device before anything is measured", "[vulkan][times]") {
  PassTimes integrated, discrete;
  integrated.create(3, DeviceKind::IntegratedGpu);
  discrete.create(3, DeviceKind::DiscreteGpu);
  CHECK(integrated.correction() == 1);
  CHECK_FALSE(integrated.measured(0));
  CHECK(near(integrated.of(0, 1e9, 1), 10.005));  // 100 GFLOP/s
  CHECK(near(discrete.of(0, 1e9, 1), 1.005));
  CHECK(integrated.of(0, 0, 1) > 0);
}

TEST_CASE("pass times: measured ones scale with the work and follow changes", "[vulkan][times]") {
  PassTimes times;
  times.create(2, DeviceKind::IntegratedGpu);
  times.learn(0, 1e6, 0.5);
  CHECK(times.measured(0));
  CHECK(near(times.of(0, 1e6, 1), 0.5));
  CHECK(near(times.of(0, 4e6, 1), 2.0));
  times.learn(0, 2e6, 2.0);  // time 1.0 for 1e6 operations
  CHECK(near(times.of(0, 1e6, 1), 0.75));
  for (int i = 0; i < 20; ++i) times.learn(0, 1e6, 3.0);
  CHECK(near(times.of(0, 1e6, 1), 3.0));
  times.learn(0, 1e6, 0x1p64 * 1e-6);  // the counter went backwards
  CHECK(near(times.of(0, 1e6, 1), 3.0));
  times.learn(0, 0, 0);  // no work within one tick
  CHECK(times.measured(0));
  CHECK(times.of(0, 1, 1) > 0);
}

TEST_CASE("pass times: the model of the others is corrected by those measured", "[vulkan][times]") {
  PassTimes times;
  times.create(3, DeviceKind::IntegratedGpu);
  times.learn(0, 1e9, 100.05);  // ten times slower than the model
  CHECK(near(times.correction(), 10));
  CHECK(near(times.of(1, 1e9, times.correction()), 100.05));
  CHECK_FALSE(times.measured(1));
  times.learn(1, 1e9, 100.05);
  CHECK(near(times.correction(), 10));
}

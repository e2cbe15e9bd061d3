// Tuning on real drivers: what is found is used, kept, and given to another start.
#include <heed/tuning.hpp>

#include "catch.hpp"
#include "graph/backend.hpp"
#include "kernels/tuning_choice.hpp"
#include "ops/trial.hpp"

namespace heed::ops {

TEST_CASE("tune: times products, and its blob serves another start of the same device alone",
          "[vulkan][tuning][drivers]") {
  for (const TestDevice& test : test_devices()) {
    INFO(test.word);
    Device device = test.device, fresh;
    TuningReport report;
    if (device.info().kind == DeviceKind::Cpu) {
      CHECK(tune(device, {}, &report) == Status::Ok);
      CHECK(report.products.empty());
      CHECK(use_tuning(device, report.blob) == Status::Unsupported);
      (void)take_messages();
      continue;
    }
    REQUIRE(Device::open({.select = device.info().word}, &fresh) == Status::Ok);
    const Status status = tune(fresh, {.time_limit_ms = 1}, &report);  // one matrix at some sizes
    INFO(take_checked_messages());
    REQUIRE(status == Status::Ok);
    REQUIRE_FALSE(report.products.empty());
    for (const TunedProduct& product : report.products) {
      CHECK(product.usual_ms > 0);
      CHECK(product.fastest_ms <= product.usual_ms);
      CHECK(product.variants > 0);
    }
    CHECK(use_tuning(device, report.blob) == Status::Ok);
    std::vector<std::byte> damaged = report.blob;
    damaged.back() ^= std::byte{1};
    CHECK(use_tuning(device, damaged) == Status::InvalidFile);
    CHECK(use_tuning(device, write_tuning(1, {})) == Status::Unsupported);
    CHECK(use_tuning(device, {}) == Status::InvalidFile);
    CHECK(take_messages().size() == 3);  // a line for each
    CHECK(use_tuning(device, write_tuning(device.impl()->self_test_key(), {})) == Status::Ok);  // forgets it
    CHECK(tune(device, {.time_limit_ms = 0}, &report) == Status::InvalidArgument);
    (void)take_messages();
  }
}

}  // namespace heed::ops

// CompileOptions::round_rows on Vulkan devices: what their plans say of it. tests/ops/quantized_test.cpp has the results.
#include "harness/catch.hpp"
#include "harness/trial.hpp"
#include "interpreter/device.hpp"

namespace heed::ops {

TEST_CASE(
    "rounded rows: Vulkan devices with matrix units say that they round many, all others compute as without the option",
    "[ops][quantized][matrix]") {
  constexpr int64_t kRows = 40;
  for (const TestDevice& on : test_devices(Kernels::Gpu)) {
    const Capabilities* device = interpreter::capabilities_of(on.device);
    if (device == nullptr) continue;  // the CPU device
    const bool has_units = device->matrix.m != 0 && device->subgroup_arithmetic && device->subgroup_ballot;
    INFO(on.word);
    Trial trial(DType::F32);
    Array w;
    const Tensor weight = trial.blocks("w", {kRows, 64}, DType::Q4_1, 53, &w);
    trial.graph.output("y", trial.graph.linear(trial.input("x", {kRows, 64}), weight));
    Device opened = on.device;
    Weights weights;
    REQUIRE(opened.upload(trial.host_weights(), &weights) == Status::Ok);
    const Array values = uniform({kRows, 64}, 54);
    const std::vector<float> x(values.value.begin(), values.value.end());
    std::vector<float> results[2];
    for (const bool rounds : {false, true}) {
      Plan plan;
      REQUIRE(opened.compile(trial.graph, weights, &plan, {.round_rows = rounds}) == Status::Ok);
      if (!on.interpreted)  // whose plans do not tell
        CHECK((plan.passes()[0].why.find("both rounded to f16") != std::string::npos) == (rounds && has_units));
      results[rounds].resize(kRows * kRows);
      REQUIRE(plan.run({{"x", x}, {"y", results[rounds]}}) == Status::Ok);
    }
    CHECK((results[0] == results[1]) == !has_units);
    CHECK(take_checked_messages().empty());
  }
}

}  // namespace heed::ops

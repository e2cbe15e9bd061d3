// CompileOptions::round_rows and emulate_f32 on Vulkan devices: matmul by quantized weights, and the reasons that plans state.
// tests/cpu/rounded_rows_test.cpp tests the CPU.
#include "harness/catch.hpp"
#include "harness/trial.hpp"
#include "interpreter/device.hpp"
#include "ops/rounded_products.hpp"

namespace heed::ops {
namespace {

constexpr char kToF16[] = "both rounded to f16", kToBytes[] = "rounded to 8 bits";

std::vector<TestDevice> vulkan_devices() {
  std::vector<TestDevice> devices = test_devices();
  std::erase_if(devices, [](const TestDevice& on) { return interpreter::capabilities_of(on.device) == nullptr; });
  return devices;
}

// The part of a kernel's reason that shows whether a device rounds many rows for this type; null: it rounds none. For Q6_K a fragment must
// be within the 16 elements that share a scale.
const char* rounding_of(const TestDevice& on, DType type) {
  const Capabilities& device = *interpreter::capabilities_of(on.device);
  if (device.byte_matrix.m != 0 && device.byte_matrix.k <= (type == DType::Q6_K ? 16 : 32) && device.subgroup_shuffle)
    return kToBytes;
  if (device.matrix.m != 0 && device.subgroup_arithmetic && device.subgroup_ballot) return kToF16;
  return device.integer_dots ? kToBytes : nullptr;
}

// Calls check(devices, types) for groups of types that the same devices round alike.
template <class Check>
void check_rounding(const char* how, const Check& check) {
  static_assert(kQuantized[0] == DType::Q6_K);
  const std::span<const DType> all = kQuantized;
  for (const std::span<const DType> types : {all.first(1), all.subspan(1)}) {
    std::vector<TestDevice> devices = vulkan_devices();
    std::erase_if(devices, [&](const TestDevice& on) { return rounding_of(on, types[0]) != how; });
    check(std::move(devices), types);
  }
}

void check_rounded(const char* name, const char* how) {
  check_rounding(how, [&](std::vector<TestDevice> devices, std::span<const DType> types) {
    check({name, rounded_products({.round_rows = true}, how == kToF16, types), {DType::F32}}, std::move(devices));
  });
}

}  // namespace

TEST_CASE("quantized weights by rows that matrix units round to f16", "[ops][quantized][matrix]") {
  check_rounded("quantized rounded to f16", kToF16);
}

TEST_CASE("quantized weights by rows rounded to bytes on every device", "[ops][quantized][dots]") {
  check_rounded("quantized rounded to bytes", kToBytes);
}

TEST_CASE("quantized weights by multiples of the scales of rows rounded to bytes on every device",
          "[ops][quantized][dots]") {
  check_rounding(kToBytes, [](std::vector<TestDevice> devices, std::span<const DType> types) {
    check({"quantized by multiples", products_of_multiples(types), {DType::F32}}, std::move(devices));
  });
}

TEST_CASE("quantized weights by two terms of f16", "[ops][quantized][matrix]") {
  check({"quantized emulated", rounded_products({.emulate_f32 = true}, true, kQuantized), {DType::F32}},
        vulkan_devices());
}

TEST_CASE(
    "rounded rows: Vulkan devices with matrix units or dot products say that they round many, all others compute as "
    "without the option",
    "[ops][quantized][matrix][dots]") {
  constexpr int64_t kRows = 40;
  for (const TestDevice& on : vulkan_devices()) {
    if (on.word.starts_with("drawn")) continue;  // may have matrix units, but no room for a tile
    const char* const rounding = rounding_of(on, DType::Q4_1);
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
      if (!on.interpreted)  // its plans do not state it
        for (const char* how : {kToF16, kToBytes})
          CHECK((plan.passes()[0].why.find(how) != std::string::npos) == (rounds && rounding == how));
      results[rounds].resize(kRows * kRows);
      REQUIRE(plan.run({{"x", x}, {"y", results[rounds]}}) == Status::Ok);
    }
    CHECK((results[0] == results[1]) == (rounding == nullptr));
    CHECK(take_checked_messages().empty());
  }
}

}  // namespace heed::ops

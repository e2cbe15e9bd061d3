// When heed uses dot products of bytes, and the resulting matmul kernels. Needs no device.
#include "harness/catch.hpp"
#include "kernels/lowered.hpp"
#include "kernels/matmul/matmul.hpp"
#include "vulkan/probe/capabilities.hpp"

using namespace heed;
using namespace heed::vulkan;

namespace {

PhysicalDevice device_with_dots() {
  PhysicalDevice device;
  device.api_version = device.properties.apiVersion = VK_API_VERSION_1_3;
  device.properties.deviceType = VK_PHYSICAL_DEVICE_TYPE_INTEGRATED_GPU;
  device.features.shaderIntegerDotProduct = device.offered.shaderIntegerDotProduct = device.fast_dots = true;
  return device;
}

}  // namespace

TEST_CASE("dot products: where the driver has fast ones and they are enabled", "[vulkan][dots]") {
  struct Row {
    void (*change)(PhysicalDevice& device);
    const char* why;
  };
  const Row rows[] = {
      {[](PhysicalDevice&) {}, ""},
      {[](PhysicalDevice& device) { device.api_version = VK_API_VERSION_1_2; }, "Vulkan 1.3 is needed"},
      {[](PhysicalDevice& device) { device.features = device.offered = {}; },
       "the driver has no shaderIntegerDotProduct"},
      {[](PhysicalDevice& device) { device.features = {}; }, "the host lists no shaderIntegerDotProduct"},
      {[](PhysicalDevice& device) { device.fast_dots = false; }, "no fast instruction"}};
  for (const Row& row : rows) {
    PhysicalDevice device = device_with_dots();
    row.change(device);
    const std::string why = why_no_dots(device);
    CHECK(why.empty() == (row.why[0] == '\0'));
    CHECK_THAT(why, holds(row.why));
    CHECK(capabilities_of(device).integer_dots == why.empty());
  }
}

TEST_CASE("dot products: many rows of f32 by quantized weights take them where rows may be rounded",
          "[kernels][dots]") {
  struct Row {
    bool dots = true, rounds = true, reproducible = false, units = false, failed = false, used = false;
    DType rows = DType::F32, weights = DType::Q5_K;
    int64_t m = 500;
  };
  const Row table[] = {{.used = true},          {.used = true, .weights = DType::Q8_0},
                       {.dots = false},         {.rounds = false},
                       {.reproducible = true},  {.units = true},
                       {.failed = true},        {.rows = DType::F16},
                       {.weights = DType::F32}, {.m = 1}};
  for (const Row& row : table) {
    Graph g;
    g.output("y", g.linear(g.input("x", {row.m, 256}, row.rows), g.weight("w", {96, 256}, row.weights)));
    kernel_tests::Lowered lowered(g);
    if (row.units) lowered.device = kernel_tests::device_with_units();
    lowered.schedule.asked.round_rows = row.rounds;
    lowered.schedule.asked.reproducible = row.reproducible;
    lowered.device.irreproducible = nullptr;
    lowered.device.storage_16bit = lowered.device.subgroup_arithmetic = lowered.device.subgroup_ballot = true;
    lowered.device.integer_dots = row.dots;
    lowered.device.disabled[static_cast<size_t>(KernelId::MatmulF32QuantizedDot)] = row.failed;
    const auto [kernels, dispatches] = lowered.lower(Op::Matmul);
    const KernelUse& use = kernels.uses[dispatches.dispatches[0].kernel];
    CHECK((use.key.id == KernelId::MatmulF32QuantizedDot) == row.used);
    if (!row.used) continue;
    CHECK(kernel_tests::shared_bytes(use.key) <= lowered.device.shared_bytes);
    CHECK(use.key.spec[0] <= lowered.device.max_invocations);
    CHECK_THAT(std::string(use.why), holds("rounded to 8 bits"));
  }
}

TEST_CASE("dot products: a device with all there is can list every kernel of a product", "[kernels][dots]") {
  Graph g;
  g.output("y", g.linear(g.input("x", {g.extent("m", 512), 4096}), g.weight("w", {768, 4096}, DType::Q8_0)));
  for (const KernelId expected :
       {KernelId::MatmulF32QuantizedDot, KernelId::MatmulF32QuantizedMatrix, KernelId::MatmulF32QuantizedBytes}) {
    Capabilities device = kernel_tests::device_with_units();
    if (expected == KernelId::MatmulF32QuantizedDot) device.matrix = {};
    if (expected == KernelId::MatmulF32QuantizedBytes) device.byte_matrix = {16, 8, 32};
    device.integer_dots = device.subgroup_arithmetic = device.subgroup_ballot = device.subgroup_shuffle = true;
    auto tuning = std::make_shared<Tuning>();
    tuning->lists_all = true;
    device.tuning = tuning;
    kernel_tests::Lowered lowered(g, false, device);
    lowered.schedule.asked.round_rows = true;
    const KernelList kernels = lowered.selected(Op::Matmul);
    CHECK_FALSE(kernels.overflowed);
    const auto has = [&](KernelId id) {
      return std::any_of(kernels.uses.begin(), kernels.uses.begin() + kernels.count,
                         [&](const KernelUse& use) { return use.key.id == id; });
    };
    for (const KernelId id :
         {KernelId::MatmulF32QuantizedDot, KernelId::MatmulF32QuantizedMatrix, KernelId::MatmulF32QuantizedBytes})
      CHECK(has(id) == (id == expected));
  }
}

TEST_CASE("dot products: larger tiles where a device has room for their invocations", "[kernels][dots]") {
  Graph g;
  g.output("y", g.linear(g.input("x", {4096, 256}), g.weight("w", {4096, 256}, DType::Q4_0)));
  for (const bool large : {false, true}) {
    kernel_tests::Lowered lowered(g);
    lowered.schedule.asked.round_rows = lowered.device.integer_dots = true;
    if (large) lowered.device.max_invocations = 256, lowered.device.shared_bytes = 32768;
    const KernelKey key = lowered.lower(Op::Matmul).use(0).key;
    CHECK(key.id == KernelId::MatmulF32QuantizedDot);
    CHECK(key.spec[MatmulConstants::BN] == (large ? 128 : 64));
    CHECK(kernel_tests::shared_bytes(key) <= lowered.device.shared_bytes);
  }
}

// When heed uses matrix units, and the resulting matmul kernels. Needs no device.
#include "vulkan/probe/matrix_units.hpp"

#include "harness/catch.hpp"
#include "kernels/lowered.hpp"
#include "kernels/matmul/matmul.hpp"
#include "shared/matmul_matrix.h"
#include "vulkan/pipelines/pipeline_info.hpp"

using namespace heed;
using namespace heed::vulkan;

namespace {

MatrixUnits units_of(std::vector<MatrixSize> sizes) {
  MatrixUnits units;
  units.missing = "";
  units.sizes = std::move(sizes);
  units.smallest_subgroup = units.largest_subgroup = 32;
  return units;
}

// Everything that a host must have enabled, in the structures of Vulkan 1.2 and 1.3 or in those of the extensions.
struct HostFeatures {
  VkPhysicalDeviceFeatures2 features =
      structure<VkPhysicalDeviceFeatures2>(VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FEATURES_2);
  VkPhysicalDeviceVulkan12Features core12 =
      structure<VkPhysicalDeviceVulkan12Features>(VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_2_FEATURES);
  VkPhysicalDeviceVulkan13Features core13 =
      structure<VkPhysicalDeviceVulkan13Features>(VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_3_FEATURES);
  VkPhysicalDeviceCooperativeMatrixFeaturesKHR matrix = structure<VkPhysicalDeviceCooperativeMatrixFeaturesKHR>(
      VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_COOPERATIVE_MATRIX_FEATURES_KHR);

  HostFeatures() {
    features.pNext = &core12;
    core12.pNext = &core13;
    core13.pNext = &matrix;
    core12.shaderFloat16 = core12.vulkanMemoryModel = core12.vulkanMemoryModelDeviceScope = VK_TRUE;
    core13.subgroupSizeControl = core13.computeFullSubgroups = VK_TRUE;
    matrix.cooperativeMatrix = VK_TRUE;
  }
  HostFeatures(const HostFeatures&) = delete;
};

constexpr const char* kExtensions[] = {"VK_KHR_swapchain", "VK_KHR_cooperative_matrix"};

}  // namespace

TEST_CASE("matrix units: the largest size that divides the tiles", "[vulkan][matrix]") {
  struct Row {
    std::vector<MatrixSize> sizes;
    uint32_t m, n, k;
  };
  const Row rows[] = {{{{8, 8, 8}}, 8, 8, 8},
                      {{{16, 8, 8}, {16, 16, 16}, {16, 8, 16}}, 16, 16, 16},
                      {{{64, 64, 16}, {8, 16, 16}}, 8, 16, 16},
                      {{{12, 12, 12}}, 0, 0, 0},
                      {{}, 0, 0, 0}};
  for (const Row& row : rows) {
    std::string why;
    const MatrixSize size = choose_matrix(units_of(row.sizes), false, MatrixUse::Auto, &why);
    CHECK(size.m == row.m);
    CHECK(size.n == row.n);
    CHECK(size.k == row.k);
    CHECK(why.empty() == (row.m != 0));
  }
}

TEST_CASE("matrix units: bf16 has sizes of its own and is asked of a device only where they are used",
          "[vulkan][matrix]") {
  MatrixUnits units = units_of({{16, 16, 16}});
  std::string why;
  CHECK(choose_bfloat_matrix(units, &why).m == 0);
  CHECK_THAT(why, holds("no size for bf16"));
  units.bfloat_sizes = {{8, 8, 8}, {16, 8, 16}};
  CHECK(choose_bfloat_matrix(units, &why).k == 16);
  CHECK(why.empty());
  units.bfloat_missing = "the driver has no shaderBFloat16Type";
  CHECK(choose_bfloat_matrix(units, &why).m == 0);
  CHECK(why == units.bfloat_missing);

  Capabilities device;
  CHECK(matrix_needs(device).extensions.empty());
  device.matrix = {16, 16, 16};
  CHECK(matrix_needs(device).extensions.size() == 1);
  CHECK(missing_features(matrix_needs(device).features, kMatrixFeatures).empty());
  CHECK_FALSE(matrix_needs(device).features.shaderBFloat16Type);
  device.bfloat_matrix = {16, 8, 16};
  CHECK(matrix_needs(device).extensions.size() == 2);
  CHECK(missing_features(matrix_needs(device).features, kMatrixFeatures).empty());
  CHECK(missing_features(matrix_needs(device).features, kBfloatFeatures).empty());
}

TEST_CASE(
    "matrix units: bytes are used where their fragments are deeper than those of f16 and these have few rows, or "
    "always",
    "[vulkan][matrix]") {
  struct Row {
    std::vector<MatrixSize> sizes;
    MatrixUse use;
    uint32_t k;
    const char* why;
    MatrixSize half = {8, 16, 16};
  };
  const Row rows[] = {{{{16, 8, 16}, {16, 8, 32}}, MatrixUse::Auto, 32, ""},
                      {{{16, 8, 16}, {16, 8, 32}}, MatrixUse::Auto, 0, "scaling their sums", {16, 16, 16}},
                      {{{16, 8, 16}, {16, 8, 32}}, MatrixUse::Always, 32, "", {16, 16, 16}},
                      {{{16, 16, 16}}, MatrixUse::Auto, 0, "no deeper"},
                      {{{16, 16, 16}}, MatrixUse::Always, 16, ""},
                      {{{16, 16, 64}}, MatrixUse::Auto, 0, "no size for bytes"},
                      {{}, MatrixUse::Always, 0, "no size for bytes"}};
  for (const Row& row : rows) {
    const MatrixSize half = row.half;
    MatrixUnits units = units_of({half});
    units.byte_sizes = row.sizes;
    std::string why;
    CHECK(choose_byte_matrix(units, half, row.use, &why).k == row.k);
    CHECK(why.empty() == (row.k != 0));
    CHECK_THAT(why, holds(row.why));
    units.byte_missing = "the driver has no shaderInt8";
    CHECK(choose_byte_matrix(units, half, row.use, &why).m == 0);
    CHECK(why == units.byte_missing);
  }
  Capabilities device;
  device.matrix = {16, 16, 16};
  CHECK_FALSE(matrix_needs(device).features.shaderInt8);
  device.byte_matrix = {16, 8, 32};
  CHECK(matrix_needs(device).features.shaderInt8);
  CHECK(matrix_needs(device).extensions.size() == 1);
}

TEST_CASE("matrix units: not on a processor unless forced, never when forbidden or missing", "[vulkan][matrix]") {
  const MatrixUnits units = units_of({{8, 8, 8}});
  std::string why;
  CHECK(choose_matrix(units, true, MatrixUse::Auto, &why).m == 0);
  CHECK(choose_matrix(units, true, MatrixUse::Always, &why).m == 8);
  CHECK(choose_matrix(units, false, MatrixUse::Never, &why).m == 0);
  CHECK(choose_matrix(MatrixUnits(), false, MatrixUse::Always, &why).m == 0);
  CHECK_THAT(why, holds("VK_KHR_cooperative_matrix"));
}

TEST_CASE("matrix units: the subgroup size is 32 where that is possible", "[vulkan][matrix]") {
  MatrixUnits units = units_of({});
  units.smallest_subgroup = 32, units.largest_subgroup = 64;
  CHECK(choose_matrix_subgroup(units, 64) == 32);
  units.smallest_subgroup = units.largest_subgroup = 8;
  CHECK(choose_matrix_subgroup(units, 8) == 8);
  units.smallest_subgroup = units.largest_subgroup = 64;
  CHECK(choose_matrix_subgroup(units, 64) == 64);
}

TEST_CASE("matrix units: pipelines ask for a subgroup size only where there is a choice", "[vulkan][matrix]") {
  KernelKey key;
  key.subgroup = 32;
  for (const bool fixed : {false, true}) {
    const ComputePipelineInfo pipeline(key, "main", VK_NULL_HANDLE, VK_NULL_HANDLE, fixed);
    const VkPipelineShaderStageCreateInfo& stage = pipeline.info.stage;
    CHECK(stage.flags == VK_PIPELINE_SHADER_STAGE_CREATE_REQUIRE_FULL_SUBGROUPS_BIT);
    CHECK((stage.pNext == nullptr) == fixed);
  }
  key.subgroup = 0;
  const ComputePipelineInfo pipeline(key, "main", VK_NULL_HANDLE, VK_NULL_HANDLE, false);
  CHECK(pipeline.info.stage.flags == 0);
  CHECK(pipeline.info.stage.pNext == nullptr);
}

TEST_CASE("matrix units: a host must have told all they need", "[vulkan][matrix]") {
  HostFeatures host;
  const auto lacks = [&] { return untold_for_matrices(read_features(&host.features), kExtensions); };
  CHECK(lacks().empty());
  CHECK(untold_for_matrices(read_features(&host.features), {}) ==
        "VK_KHR_cooperative_matrix in HostDevice::enabled_extensions");
  CHECK(untold_for_matrices({}, kExtensions) ==
        "cooperativeMatrix, shaderFloat16, vulkanMemoryModel, vulkanMemoryModelDeviceScope, subgroupSizeControl, "
        "computeFullSubgroups in HostDevice::enabled_features");
  CHECK_THAT(untold_for_matrices({}, {}), holds("enabled_extensions, cooperativeMatrix"));
  for (VkBool32* feature :
       {&host.core12.shaderFloat16, &host.core12.vulkanMemoryModel, &host.core12.vulkanMemoryModelDeviceScope,
        &host.core13.subgroupSizeControl, &host.core13.computeFullSubgroups, &host.matrix.cooperativeMatrix}) {
    *feature = VK_FALSE;
    CHECK_FALSE(lacks().empty());
    *feature = VK_TRUE;
  }
  FeatureChain single(kMatrixFeatures);
  host.features.pNext = single.first();
  CHECK(lacks().empty());
  constexpr const char* kBfloat[] = {"VK_KHR_shader_bfloat16"};
  CHECK(untold_for_bfloat(read_features(&host.features), kExtensions) ==
        "VK_KHR_shader_bfloat16 in HostDevice::enabled_extensions, shaderBFloat16Type, "
        "shaderBFloat16CooperativeMatrix in HostDevice::enabled_features");
  CHECK(untold_for_bfloat(read_features(FeatureChain(kBfloatFeatures).first()), kBfloat).empty());
}

TEST_CASE("features: a chain says what it was made of and links no structure in vain", "[vulkan]") {
  CHECK(FeatureChain({}).first() == nullptr);
  FeatureChain storage({.storageBuffer16BitAccess = true});
  REQUIRE(storage.first() != nullptr);
  CHECK(static_cast<const VkBaseInStructure*>(storage.first())->pNext == nullptr);
  CHECK(read_features(storage.first()).storageBuffer16BitAccess);
  CHECK_FALSE(
      read_features(FeatureChain({.storageBuffer16BitAccess = true}, VK_FALSE).first()).storageBuffer16BitAccess);
  // A structure lists several features, of which only the requested ones are set.
  const Features model = read_features(FeatureChain({.vulkanMemoryModel = true}).first());
  CHECK(model.vulkanMemoryModel);
  CHECK_FALSE(model.vulkanMemoryModelDeviceScope);
}

TEST_CASE("features: a host tells each in an extension's structure or in Vulkan's own", "[vulkan]") {
  const auto check_both = [](auto core, VkBool32 decltype(core)::* member, bool Features::* feature) {
    Features single;
    single.*feature = true;
    CHECK(read_features(FeatureChain(single).first()).*feature);
    CHECK_FALSE(read_features(&core).*feature);
    core.*member = VK_TRUE;
    CHECK(read_features(&core).*feature);
  };
  using Core11 = VkPhysicalDeviceVulkan11Features;
  using Core12 = VkPhysicalDeviceVulkan12Features;
  using Core13 = VkPhysicalDeviceVulkan13Features;
  check_both(structure<Core11>(VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_1_FEATURES),
             &Core11::storageBuffer16BitAccess, &Features::storageBuffer16BitAccess);
  const auto core12 = structure<Core12>(VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_2_FEATURES);
  check_both(core12, &Core12::shaderFloat16, &Features::shaderFloat16);
  check_both(core12, &Core12::shaderInt8, &Features::shaderInt8);
  check_both(core12, &Core12::vulkanMemoryModel, &Features::vulkanMemoryModel);
  const auto core13 = structure<Core13>(VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_3_FEATURES);
  check_both(core13, &Core13::subgroupSizeControl, &Features::subgroupSizeControl);
  check_both(core13, &Core13::maintenance4, &Features::maintenance4);
  check_both(core13, &Core13::shaderIntegerDotProduct, &Features::shaderIntegerDotProduct);
}

TEST_CASE("matrix units: many rows of f32 by quantized weights take those for bytes where rows may be rounded",
          "[kernels][matrix]") {
  struct Row {
    bool used = false;
    MatrixSize size = {16, 8, 32};
    DType weights = DType::Q5_K;
    bool rounds = true, shuffle = true, failed = false;
    int64_t m = 500;
  };
  const Row rows[] = {{.used = true},
                      {.used = true, .size = {8, 8, 8}, .weights = DType::Q6_K},
                      {.used = true, .size = {16, 16, 16}, .weights = DType::Q6_K},
                      {.size = {16, 16, 32}, .weights = DType::Q6_K},  // 16 elements share a scale
                      {.size = {}},
                      {.rounds = false},
                      {.shuffle = false},
                      {.failed = true},
                      {.m = 1}};
  for (const Row& row : rows) {
    Graph g;
    g.output("y", g.linear(g.input("x", {row.m, 256}), g.weight("w", {96, 256}, row.weights)));
    kernel_tests::Lowered lowered(g, false, kernel_tests::device_with_units());
    Capabilities& device = lowered.device;
    lowered.schedule.asked.round_rows = row.rounds;
    lowered.schedule.asked.emulate_f32 = true;
    device.byte_matrix = row.size;
    device.subgroup_shuffle = row.shuffle;
    device.subgroup_arithmetic = device.subgroup_ballot = true;
    device.disabled[static_cast<size_t>(KernelId::MatmulF32QuantizedBytes)] = row.failed;
    const auto [kernels, dispatches] = lowered.lower(Op::Matmul);
    const KernelUse& use = kernels.uses[dispatches.dispatches[0].kernel];
    CHECK((use.key.id == KernelId::MatmulF32QuantizedBytes) == row.used);
    CHECK((use.key.id == KernelId::MatmulF32QuantizedMatrix) == (!row.used && row.m > 1));
    if (!row.used) continue;
    CHECK(kernel_tests::shared_bytes(use.key) <= device.shared_bytes);
    CHECK(use.key.subgroup == device.matrix_subgroup);
    CHECK_THAT(std::string(use.why), holds("rounded to 8 bits"));
  }
}

TEST_CASE("matrix units: products of f16 and bf16 use those of their type, others and devices without do not",
          "[kernels][matrix]") {
  struct Row {
    DType type;
    MatrixSize size, bfloat_size = {};
    bool always = false, used, emulates = false, reproducible = false, rounds = false, quantized = false;
  };
  const Row rows[] = {
      {DType::F16, {16, 16, 16}, {}, false, true},
      {DType::F16, {8, 8, 8}, {}, true, true},
      {DType::F16, {}, {}, false, false},
      {DType::F32, {16, 16, 16}, {16, 16, 16}, true, false},
      {DType::F32, {16, 16, 16}, {}, false, true, true},
      {DType::F32, {8, 8, 8}, {}, true, true, true},
      {DType::F32, {}, {16, 16, 16}, false, false, true},
      {DType::F32, {16, 16, 16}, {}, true, false, true, true},
      {DType::F16, {16, 16, 16}, {}, false, true, true},
      {DType::BF16, {16, 16, 16}, {}, true, false},
      {DType::BF16, {16, 16, 16}, {16, 16, 16}, false, true},
      {DType::BF16, {16, 16, 16}, {8, 8, 8}, true, true},
      {.type = DType::F32, .size = {16, 16, 16}, .always = true, .used = false, .quantized = true},
      {.type = DType::F32, .size = {16, 16, 16}, .used = true, .rounds = true, .quantized = true},
      {.type = DType::F32, .size = {8, 8, 8}, .always = true, .used = true, .emulates = true, .quantized = true},
      {.type = DType::F32,
       .size = {16, 16, 16},
       .used = false,
       .reproducible = true,
       .rounds = true,
       .quantized = true},
      {.type = DType::F32, .size = {16, 16, 16}, .used = false, .rounds = true},
      {.type = DType::F16, .size = {16, 16, 16}, .used = false, .rounds = true, .quantized = true}};
  for (const Row& row : rows) {
    Graph g;
    const DType weights = row.quantized ? DType::Q8_0 : row.type;
    g.output("y", g.linear(g.input("x", {500, 64}, row.type), g.weight("w", {96, 64}, weights)));
    kernel_tests::Lowered lowered(g);
    lowered.schedule.asked.emulate_f32 = row.emulates;
    lowered.schedule.asked.round_rows = row.rounds;
    lowered.schedule.asked.reproducible = row.reproducible;
    lowered.device.irreproducible = nullptr;
    lowered.device.storage_16bit = lowered.device.subgroup_arithmetic = lowered.device.subgroup_ballot = true;
    lowered.device.shared_bytes = 32768;
    lowered.device.matrix = row.size;
    lowered.device.bfloat_matrix = row.bfloat_size;
    const bool bfloat = row.type == DType::BF16;
    const KernelId id = bfloat                   ? KernelId::MatmulBf16Matrix
                        : row.quantized          ? KernelId::MatmulF32QuantizedMatrix
                        : row.type == DType::F16 ? KernelId::MatmulF16Matrix
                                                 : KernelId::MatmulF32Matrix;
    const MatrixSize size = bfloat ? row.bfloat_size : row.size;
    lowered.device.matrix_always = row.always;
    lowered.device.matrix_subgroup = row.size.m == 8 ? 8 : 32;
    const auto [kernels, dispatches] = lowered.lower(Op::Matmul);
    const auto uses_matrix = [&](uint32_t i) { return kernels.uses[i].key.id == id; };
    CHECK(uses_matrix(0) == row.used);
    CHECK(uses_matrix(kernels.count - 1) == row.used);
    CHECK(uses_matrix(dispatches.dispatches[0].kernel) == row.used);
    for (uint32_t i = 0; i < kernels.count && uses_matrix(i); ++i) {
      const KernelKey& key = kernels.uses[i].key;
      CHECK(kernel_tests::shared_bytes(key) <= lowered.device.shared_bytes);
      CHECK(key.subgroup == lowered.device.matrix_subgroup);
      CHECK(key.spec[0] == 4 * key.subgroup);
      CHECK(key.spec[0] <= lowered.device.max_invocations);
      CHECK(key.spec[MatmulMatrixConstants::MS] == size.m);
      CHECK(key.spec[MatmulMatrixConstants::WM] % size.m == 0);
      CHECK(key.spec[MatmulMatrixConstants::WN] % size.n == 0);
    }
  }
}

TEST_CASE("matrix units: a tuning chooses among kernels that an option adds by what was timed with them",
          "[kernels][matrix][tuning]") {
  struct Row {
    const char *timed, *used;
    bool everywhere = false, emulates = true;
  };
  const Row rows[] = {{"matmul_f32 64x64", "matmul_f32_matrix"},  // timed without matrix units
                      {"matmul_f32 64x64 rounded", "matmul_f32_matrix"},
                      {"matmul_f32 64x64 emulated", "matmul_f32 64x64"},
                      {"matmul_f32_matrix 32x64 emulated", "matmul_f32_matrix 32x64"},
                      {.timed = "matmul_f32 64x64", .used = "matmul_f32 64x64", .everywhere = true},
                      {.timed = "matmul_f32 16x64", .used = "matmul_f32 16x64", .emulates = false},
                      {.timed = "matmul_f32_matrix 32x64 emulated", .used = "matmul_f32 ", .emulates = false}};
  Graph g;
  g.output("y", g.linear(g.input("x", {500, 64}), g.weight("w", {96, 64})));
  for (const Row& row : rows) {
    kernel_tests::Lowered lowered(g, false, kernel_tests::device_with_units());
    lowered.schedule.asked.emulate_f32 = row.emulates;
    lowered.device.subgroup_arithmetic = lowered.device.subgroup_ballot = true;
    auto tuning = std::make_shared<Tuning>();
    const uint64_t one = uint64_t{1} << product_class(500, 96, 64, true);
    tuning->choices.push_back({row.timed, row.everywhere ? Tuning::kEverywhere : one});
    lowered.device.tuning = tuning;
    const std::string used = variant_name(lowered.lower(Op::Matmul).use(0).key);
    INFO(row.timed << ": " << used);
    CHECK(used.starts_with(row.used));
  }
}

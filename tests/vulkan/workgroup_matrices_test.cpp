// When matrices of whole workgroups are used, and what a product then becomes. No device is needed.
#include "vulkan/workgroup_matrices.hpp"

#include <algorithm>

#include "catch.hpp"
#include "kernels/attention.hpp"
#include "kernels/lowered.hpp"
#include "kernels/matmul.hpp"

using namespace heed;
using namespace heed::vulkan;

namespace {

struct HostFeatures {
  VkPhysicalDeviceFeatures2 features =
      structure<VkPhysicalDeviceFeatures2>(VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FEATURES_2);
  VkPhysicalDeviceVulkan13Features core13 =
      structure<VkPhysicalDeviceVulkan13Features>(VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_3_FEATURES);
  VkPhysicalDeviceCooperativeMatrix2FeaturesNV matrix = structure<VkPhysicalDeviceCooperativeMatrix2FeaturesNV>(
      VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_COOPERATIVE_MATRIX_2_FEATURES_NV);

  HostFeatures() {
    features.pNext = &core13;
    core13.pNext = &matrix;
    core13.maintenance4 = VK_TRUE;
    matrix.cooperativeMatrixWorkgroupScope = matrix.cooperativeMatrixFlexibleDimensions = VK_TRUE;
    matrix.cooperativeMatrixReductions = matrix.cooperativeMatrixConversions = VK_TRUE;
    matrix.cooperativeMatrixPerElementOperations = matrix.cooperativeMatrixTensorAddressing = VK_TRUE;
  }
  HostFeatures(const HostFeatures&) = delete;
};

constexpr const char* kExtensions[] = {"VK_KHR_cooperative_matrix", "VK_NV_cooperative_matrix2"};

// A driver that lists these sizes.
VkCooperativeMatrixFlexibleDimensionsPropertiesNV listed[3];
VkResult VKAPI_PTR list_sizes(VkPhysicalDevice, uint32_t* count,
                              VkCooperativeMatrixFlexibleDimensionsPropertiesNV* sizes) {
  if (sizes != nullptr) std::copy(std::begin(listed), std::end(listed), sizes);
  *count = 3;
  return VK_SUCCESS;
}

bool has_workgroup_scope = true;
void VKAPI_PTR get_features(VkPhysicalDevice, VkPhysicalDeviceFeatures2* features) {
  // As left by chain(): all that is wanted.
  auto* matrix = static_cast<VkPhysicalDeviceCooperativeMatrix2FeaturesNV*>(features->pNext);
  matrix->cooperativeMatrixWorkgroupScope = has_workgroup_scope ? VK_TRUE : VK_FALSE;
}
void VKAPI_PTR get_properties(VkPhysicalDevice, VkPhysicalDeviceProperties2* properties) {
  auto* limits = static_cast<VkPhysicalDeviceCooperativeMatrix2PropertiesNV*>(properties->pNext);
  limits->cooperativeMatrixWorkgroupScopeMaxWorkgroupSize = 1024;
  limits->cooperativeMatrixFlexibleDimensionsMaxDimension = 1024;
}

Functions driver() {
  Functions vk;
  vk.GetPhysicalDeviceFeatures2 = get_features;
  vk.GetPhysicalDeviceProperties2 = get_properties;
  vk.GetPhysicalDeviceCooperativeMatrixFlexibleDimensionsPropertiesNV = list_sizes;
  for (auto& one : listed) {
    one = structure<VkCooperativeMatrixFlexibleDimensionsPropertiesNV>(
        VK_STRUCTURE_TYPE_COOPERATIVE_MATRIX_FLEXIBLE_DIMENSIONS_PROPERTIES_NV);
    one.MGranularity = 16, one.NGranularity = 16, one.KGranularity = 16;
    one.AType = one.BType = VK_COMPONENT_TYPE_FLOAT16_KHR;
    one.CType = one.ResultType = VK_COMPONENT_TYPE_FLOAT32_KHR;
    one.scope = VK_SCOPE_WORKGROUP_KHR;
  }
  listed[0].workgroupInvocations = 128;
  listed[1].workgroupInvocations = 256, listed[1].MGranularity = 32, listed[1].NGranularity = 32;
  listed[2].workgroupInvocations = 128, listed[2].CType = VK_COMPONENT_TYPE_FLOAT16_KHR, listed[2].MGranularity = 8;
  return vk;
}

MatrixUnits usable_units() {
  MatrixUnits units;
  units.missing = "";
  return units;
}

}  // namespace

TEST_CASE("workgroup matrices: sizes for f16 with f32 sums, by the workgroup's size", "[vulkan][matrix]") {
  const Functions vk = driver();
  const WorkgroupMatrices matrices = read_workgroup_matrices(vk, {}, usable_units(), true);
  CHECK(matrices.missing.empty());
  CHECK(matrices.of_128.m == 16);
  CHECK(matrices.of_256.m == 32);
  CHECK(matrices.largest == 1024);
  for (auto& one : listed) one.scope = VK_SCOPE_SUBGROUP_KHR;
  CHECK(read_workgroup_matrices(vk, {}, usable_units(), true).of_128.m == 0);
  CHECK_FALSE(read_workgroup_matrices(vk, {}, usable_units(), false).missing.empty());
  CHECK_FALSE(read_workgroup_matrices(vk, {}, MatrixUnits(), true).missing.empty());
  has_workgroup_scope = false;
  CHECK(read_workgroup_matrices(vk, {}, usable_units(), true).missing ==
        "the driver has no cooperativeMatrixWorkgroupScope");
  has_workgroup_scope = true;
}

TEST_CASE("workgroup matrices: only when asked for, and beside other matrix units", "[vulkan][matrix]") {
  WorkgroupMatrices matrices;
  matrices.missing = "";
  matrices.of_256 = {32, 32, 16};
  std::string why;
  CHECK(uses_workgroup_matrices(matrices, {16, 16, 16}, MatrixUse::Nv2, &why));
  CHECK_FALSE(uses_workgroup_matrices(matrices, {16, 16, 16}, MatrixUse::Auto, &why));
  CHECK(why.find("HEED_MATRIX_UNITS=nv2") != std::string::npos);
  CHECK_FALSE(uses_workgroup_matrices(matrices, {}, MatrixUse::Nv2, &why));
  matrices.of_256 = {};
  CHECK_FALSE(uses_workgroup_matrices(matrices, {16, 16, 16}, MatrixUse::Nv2, &why));
  CHECK_FALSE(uses_workgroup_matrices({}, {16, 16, 16}, MatrixUse::Nv2, &why));
  CHECK(why.find("VK_NV_cooperative_matrix2") != std::string::npos);
}

TEST_CASE("workgroup matrices: a host must have enabled all they need", "[vulkan][matrix]") {
  HostFeatures host;
  CHECK(missing_workgroup_matrix_features(&host.features, kExtensions).empty());
  CHECK(missing_workgroup_matrix_features(&host.features, {}) == "VK_NV_cooperative_matrix2");
  CHECK_FALSE(missing_workgroup_matrix_features(nullptr, kExtensions).empty());
  for (VkBool32* feature :
       {&host.core13.maintenance4, &host.matrix.cooperativeMatrixWorkgroupScope,
        &host.matrix.cooperativeMatrixFlexibleDimensions, &host.matrix.cooperativeMatrixReductions,
        &host.matrix.cooperativeMatrixConversions, &host.matrix.cooperativeMatrixPerElementOperations,
        &host.matrix.cooperativeMatrixTensorAddressing}) {
    *feature = VK_FALSE;
    CHECK_FALSE(missing_workgroup_matrix_features(&host.features, kExtensions).empty());
    *feature = VK_TRUE;
  }
  WorkgroupMatrixFeatures single;
  host.features.pNext = single.chain(nullptr);
  CHECK(missing_workgroup_matrix_features(&host.features, kExtensions).empty());
  CHECK(single.missing().empty());
}

TEST_CASE("workgroup matrices: products of f16 use tiles that they divide", "[kernels][matrix]") {
  struct Row {
    DType type;
    int64_t rows;
    MatrixSize of_128, of_256;
    uint32_t tile;  // rows of the one that a run takes; 0: none
  };
  const Row rows[] = {{DType::F16, 4096, {16, 16, 16}, {32, 32, 16}, 128},
                      {DType::F16, 4096, {16, 16, 16}, {}, 0},  // 128x128 tiles of other matrix units
                      {DType::F16, 40, {16, 16, 16}, {32, 32, 16}, 64},
                      {DType::F16, 4096, {}, {}, 0},
                      {DType::F32, 4096, {16, 16, 16}, {32, 32, 16}, 0}};
  for (const Row& row : rows) {
    INFO(to_string(row.type) << " " << row.rows);
    Graph g;
    g.output("y", g.linear(g.input("x", {row.rows, 4096}, row.type), g.weight("w", {4096, 4096}, row.type)));
    kernel_tests::Lowered lowered(g);
    lowered.device.storage_16bit = true;
    lowered.device.max_invocations = 1024;
    lowered.device.shared_bytes = 49152;
    lowered.device.matrix = {16, 16, 16};
    lowered.device.matrix_subgroup = 32;
    lowered.device.workgroup_matrix_128 = row.of_128;
    lowered.device.workgroup_matrix_256 = row.of_256;
    lowered.device.workgroup_matrix_largest = 1024;
    KernelList kernels;
    DispatchList dispatches;
    lowered.lower(lowered.step(Op::Matmul), &kernels, &dispatches);
    CHECK(kernels.count <= kMaxKernelsPerStep);
    const KernelKey& key = kernels.uses[dispatches.dispatches[0].kernel].key;
    CHECK((key.id == KernelId::MatmulF16MatrixNv2) == (row.tile != 0));
    if (row.tile != 0) CHECK(key.spec[kernels::matmul::kRows] == row.tile);
  }
}

TEST_CASE("workgroup matrices: a product with every kernel there is fits the list", "[kernels][matrix]") {
  Graph g;
  const Dim rows = g.extent("rows", 300);
  g.output("y", g.linear(g.input("x", {rows, 4096}, DType::F16), g.weight("w", {70, 4096}, DType::F16)));
  Capabilities device = kernel_tests::device_with_units();
  device.workgroup_matrix_128 = device.workgroup_matrix_256 = {16, 16, 16};
  device.workgroup_matrix_largest = 1024;
  kernel_tests::Lowered lowered(g, false, device);
  KernelList kernels;
  REQUIRE(lowered.select(lowered.step(Op::Matmul), &kernels) == Status::Ok);
  CHECK(lowered.step(Op::Matmul).workspace.valid());  // each kernel twice, and the sum
  CHECK(kernels.count > 16);
  CHECK(kernels.count <= kMaxKernelsPerStep);
}

namespace {

Capabilities workgroup_device(const MatrixSize& of_128, const MatrixSize& of_256) {
  Capabilities device = kernel_tests::device_with_units();
  device.workgroup_matrix_128 = of_128;
  device.workgroup_matrix_256 = of_256;
  device.workgroup_matrix_largest = 256;
  return device;
}

}  // namespace

TEST_CASE("workgroup matrices: attention of f16 uses tiles that they divide, where heads begin on 16 bytes",
          "[kernels][matrix]") {
  struct Row {
    DType type;
    int64_t queries, d_k, d_v;
    MatrixSize of_128, of_256;
    KernelId used;
    uint32_t tile = 0;  // queries of a workgroup
  };
  const MatrixSize small = {16, 16, 16}, large = {32, 32, 16};
  constexpr KernelId kNv2 = KernelId::AttentionF16MatrixNv2, kKhr = KernelId::AttentionF16Matrix;
  const Row rows[] = {{DType::F16, 4096, 64, 64, small, large, kNv2, 128},
                      {DType::F16, 4096, 256, 200, small, large, kNv2, 64},
                      {DType::F16, 4096, 8, 72, small, large, kNv2, 128},
                      {DType::F16, 50, 64, 64, small, large, kNv2, 64},
                      {DType::F16, 1, 64, 64, small, large, KernelId::AttentionF16},
                      {DType::F16, 4096, 64, 64, {}, {}, kKhr},
                      {DType::F16, 4099, 20, 64, small, large, kKhr},  // [2, 3, 4099, 20]: heads begin anywhere
                      {DType::F16, 4096, 64, 64, {}, {128, 128, 16}, kKhr},
                      {DType::F32, 4096, 64, 64, small, large, KernelId::AttentionF32}};
  for (const Row& row : rows) {
    INFO(to_string(row.type) << " " << row.queries << ", heads of " << row.d_k << " and " << row.d_v);
    Graph g;
    const Tensor q = g.input("q", {2, 3, row.queries, row.d_k}, row.type);
    const Tensor k = g.input("k", {2, 3, 500, row.d_k}, row.type), v = g.input("v", {2, 3, 500, row.d_v}, row.type);
    g.output("y", g.attention(q, k, v).output);
    kernel_tests::Lowered lowered(g, false, workgroup_device(row.of_128, row.of_256));
    KernelList kernels;
    DispatchList dispatches;
    lowered.lower(lowered.step(Op::Attention), &kernels, &dispatches);
    CHECK(kernels.count <= kMaxKernelsPerStep);
    const KernelKey& key = kernels.uses[dispatches.dispatches[0].kernel].key;
    CHECK(kernel_name(key) == std::string(kernel_info(row.used).name));
    if (row.used != kNv2) continue;
    using namespace kernels::attention;
    const MatrixSize& unit = key.spec[0] == 128 ? row.of_128 : row.of_256;
    CHECK(queries_of(key) == row.tile);
    CHECK(key.spec[kBm] % unit.m == 0);
    CHECK((key.spec[kWorkgroupMatrixBk] % unit.n == 0 && key.spec[kWorkgroupMatrixBk] % unit.k == 0));
    CHECK((key.spec[kPaddedK] % unit.k == 0 && key.spec[kPaddedV] % unit.n == 0));
    CHECK((key.spec[kPaddedK] >= row.d_k && key.spec[kPaddedV] >= row.d_v));
    const auto& groups = dispatches.dispatches[0].groups;
    CHECK(int64_t{groups[0]} * groups[1] * groups[2] >= 6 * ((row.queries + row.tile - 1) / row.tile));
  }
}

TEST_CASE("workgroup matrices: products whose batches begin anywhere go to other matrix units", "[kernels][matrix]") {
  struct Row {
    int64_t m, n;
    bool begins_on_16_bytes;
  };
  for (const Row& row : {Row{1024, 1024, true}, Row{1023, 1025, false}, Row{1023, 1032, true}}) {
    INFO(row.m << " x " << row.n);
    Graph g;
    g.output("y", g.matmul(g.input("a", {3, row.m, 1024}, DType::F16), g.input("b", {3, 1024, row.n}, DType::F16)));
    kernel_tests::Lowered lowered(g, false, workgroup_device({16, 16, 16}, {32, 32, 16}));
    KernelList kernels;
    DispatchList dispatches;
    lowered.lower(lowered.step(Op::Matmul), &kernels, &dispatches);
    const KernelId id = kernels.uses[dispatches.dispatches[0].kernel].key.id;
    CHECK((id == KernelId::MatmulF16MatrixNv2) == row.begins_on_16_bytes);
    CHECK((id == KernelId::MatmulF16Matrix) == !row.begins_on_16_bytes);
  }
}

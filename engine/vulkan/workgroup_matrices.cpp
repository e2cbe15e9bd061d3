#include "vulkan/workgroup_matrices.hpp"

#include <algorithm>
#include <bit>
#include <vector>

#include "vulkan/features.hpp"

namespace heed::vulkan {
namespace {

std::string missing_of(const VkPhysicalDeviceCooperativeMatrix2FeaturesNV& matrix, bool maintenance4) {
  std::string text;
  add_missing(&text, matrix.cooperativeMatrixWorkgroupScope == VK_TRUE, "cooperativeMatrixWorkgroupScope");
  add_missing(&text, matrix.cooperativeMatrixFlexibleDimensions == VK_TRUE, "cooperativeMatrixFlexibleDimensions");
  add_missing(&text, matrix.cooperativeMatrixReductions == VK_TRUE, "cooperativeMatrixReductions");
  add_missing(&text, matrix.cooperativeMatrixConversions == VK_TRUE, "cooperativeMatrixConversions");
  add_missing(&text, matrix.cooperativeMatrixPerElementOperations == VK_TRUE, "cooperativeMatrixPerElementOperations");
  add_missing(&text, matrix.cooperativeMatrixTensorAddressing == VK_TRUE, "cooperativeMatrixTensorAddressing");
  add_missing(&text, maintenance4, "maintenance4");
  return text;
}

// Kernels cut their tiles of 64 and more, and 32 along k, into these.
bool fits_tiles(const VkCooperativeMatrixFlexibleDimensionsPropertiesNV& one) {
  const auto fits = [](uint32_t n) { return std::has_single_bit(n) && n <= 32; };
  return fits(one.MGranularity) && fits(one.NGranularity) && fits(one.KGranularity);
}

void read_sizes(const Functions& vk, VkPhysicalDevice device, WorkgroupMatrices* matrices) {
  uint32_t count = 0;
  const auto list = vk.GetPhysicalDeviceCooperativeMatrixFlexibleDimensionsPropertiesNV;
  if (list == nullptr || list(device, &count, nullptr) < 0) return;
  std::vector<VkCooperativeMatrixFlexibleDimensionsPropertiesNV> listed(
      count, structure<VkCooperativeMatrixFlexibleDimensionsPropertiesNV>(
                 VK_STRUCTURE_TYPE_COOPERATIVE_MATRIX_FLEXIBLE_DIMENSIONS_PROPERTIES_NV));
  if (list(device, &count, listed.data()) < 0) return;
  listed.resize(count);
  for (const auto& one : listed) {
    const bool halves = one.AType == VK_COMPONENT_TYPE_FLOAT16_KHR && one.BType == VK_COMPONENT_TYPE_FLOAT16_KHR;
    const bool floats = one.CType == VK_COMPONENT_TYPE_FLOAT32_KHR && one.ResultType == VK_COMPONENT_TYPE_FLOAT32_KHR;
    if (!halves || !floats || one.scope != VK_SCOPE_WORKGROUP_KHR || !fits_tiles(one)) continue;
    const MatrixSize size = {one.MGranularity, one.NGranularity, one.KGranularity};
    if (one.workgroupInvocations == 128) matrices->of_128 = size;
    if (one.workgroupInvocations == 256) matrices->of_256 = size;
  }
}

}  // namespace

WorkgroupMatrixFeatures::WorkgroupMatrixFeatures()
    : matrix_(structure<VkPhysicalDeviceCooperativeMatrix2FeaturesNV>(
          VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_COOPERATIVE_MATRIX_2_FEATURES_NV)),
      maintenance_(
          structure<VkPhysicalDeviceMaintenance4Features>(VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_MAINTENANCE_4_FEATURES)) {}

void* WorkgroupMatrixFeatures::chain(void* next) {
  matrix_.cooperativeMatrixWorkgroupScope = matrix_.cooperativeMatrixFlexibleDimensions = VK_TRUE;
  matrix_.cooperativeMatrixReductions = matrix_.cooperativeMatrixConversions = VK_TRUE;
  matrix_.cooperativeMatrixPerElementOperations = matrix_.cooperativeMatrixTensorAddressing = VK_TRUE;
  maintenance_.maintenance4 = VK_TRUE;
  matrix_.pNext = &maintenance_;
  maintenance_.pNext = next;
  return &matrix_;
}

std::string WorkgroupMatrixFeatures::missing() const {
  return missing_of(matrix_, maintenance_.maintenance4 == VK_TRUE);
}

WorkgroupMatrices read_workgroup_matrices(const Functions& vk, VkPhysicalDevice device, const MatrixUnits& units,
                                          bool extension) {
  WorkgroupMatrices matrices;
  if (!extension) return matrices;
  matrices.missing = units.missing;
  if (!units.missing.empty()) return matrices;  // also where Vulkan is too old for the structures below
  WorkgroupMatrixFeatures wanted;
  auto features = structure<VkPhysicalDeviceFeatures2>(VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FEATURES_2);
  features.pNext = wanted.chain(nullptr);
  vk.GetPhysicalDeviceFeatures2(device, &features);
  const std::string missing = wanted.missing();
  if (!missing.empty()) {
    matrices.missing = "the driver has no " + missing;
    return matrices;
  }
  auto limits = structure<VkPhysicalDeviceCooperativeMatrix2PropertiesNV>(
      VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_COOPERATIVE_MATRIX_2_PROPERTIES_NV);
  auto properties = structure<VkPhysicalDeviceProperties2>(VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PROPERTIES_2, &limits);
  vk.GetPhysicalDeviceProperties2(device, &properties);
  matrices.largest = limits.cooperativeMatrixFlexibleDimensionsMaxDimension;
  read_sizes(vk, device, &matrices);
  if (limits.cooperativeMatrixWorkgroupScopeMaxWorkgroupSize < 128) matrices.of_128 = {};
  if (limits.cooperativeMatrixWorkgroupScopeMaxWorkgroupSize < 256) matrices.of_256 = {};
  return matrices;
}

std::string missing_workgroup_matrix_features(const VkPhysicalDeviceFeatures2* enabled,
                                              std::span<const char* const> extensions) {
  auto matrix = structure<VkPhysicalDeviceCooperativeMatrix2FeaturesNV>(
      VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_COOPERATIVE_MATRIX_2_FEATURES_NV);
  bool maintenance4 = false;
  const auto* next = enabled == nullptr ? nullptr : static_cast<const VkBaseInStructure*>(enabled->pNext);
  for (; next != nullptr; next = next->pNext) {
    const auto type = static_cast<uint32_t>(next->sType);  // older headers do not list all of them
    if (type == VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_COOPERATIVE_MATRIX_2_FEATURES_NV)
      matrix = *as<VkPhysicalDeviceCooperativeMatrix2FeaturesNV>(next);
    if (type == VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_MAINTENANCE_4_FEATURES)
      maintenance4 |= as<VkPhysicalDeviceMaintenance4Features>(next)->maintenance4 == VK_TRUE;
    if (type == VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_3_FEATURES)
      maintenance4 |= as<VkPhysicalDeviceVulkan13Features>(next)->maintenance4 == VK_TRUE;
  }
  const bool extension = contains(extensions, WorkgroupMatrixFeatures::kExtension);
  std::string text;
  add_missing(&text, extension, WorkgroupMatrixFeatures::kExtension);
  const std::string features = missing_of(matrix, maintenance4);
  add_missing(&text, features.empty(), features.c_str());
  return text;
}

bool uses_workgroup_matrices(const WorkgroupMatrices& matrices, const MatrixSize& units, MatrixUse use,
                             std::string* why) {
  *why = "";
  if (!matrices.missing.empty())
    *why = matrices.missing;
  else if (matrices.of_128.m == 0 && matrices.of_256.m == 0)
    *why = "no size for f16 with f32 sums divides heed's tiles";
  else if (use != MatrixUse::Nv2)
    *why = "nobody has timed them yet; HEED_MATRIX_UNITS=nv2 takes them";
  else if (units.m == 0)
    *why = "the device's other matrix units are not used";
  return why->empty();
}

}  // namespace heed::vulkan

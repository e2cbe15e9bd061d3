#include "vulkan/matrix_units.hpp"

#include <algorithm>
#include <bit>
#include <cstdlib>
#include <string_view>

#include "base/logging.hpp"
#include "vulkan/features.hpp"

namespace heed::vulkan {
namespace {

// Kernels cut tiles of 32 and more into these.
bool fits_tiles(const MatrixSize& size) {
  const auto fits = [](uint32_t n) { return std::has_single_bit(n) && n >= 4 && n <= 32; };
  return fits(size.m) && fits(size.n) && fits(size.k);
}

std::vector<MatrixSize> read_sizes(const Functions& vk, VkPhysicalDevice device) {
  std::vector<MatrixSize> sizes;
  uint32_t count = 0;
  if (vk.GetPhysicalDeviceCooperativeMatrixPropertiesKHR == nullptr ||
      vk.GetPhysicalDeviceCooperativeMatrixPropertiesKHR(device, &count, nullptr) < 0)
    return sizes;
  std::vector<VkCooperativeMatrixPropertiesKHR> listed(
      count, structure<VkCooperativeMatrixPropertiesKHR>(VK_STRUCTURE_TYPE_COOPERATIVE_MATRIX_PROPERTIES_KHR));
  if (vk.GetPhysicalDeviceCooperativeMatrixPropertiesKHR(device, &count, listed.data()) < 0) return sizes;
  listed.resize(count);
  for (const VkCooperativeMatrixPropertiesKHR& one : listed) {
    const bool halves = one.AType == VK_COMPONENT_TYPE_FLOAT16_KHR && one.BType == VK_COMPONENT_TYPE_FLOAT16_KHR;
    const bool floats = one.CType == VK_COMPONENT_TYPE_FLOAT32_KHR && one.ResultType == VK_COMPONENT_TYPE_FLOAT32_KHR;
    if (halves && floats && one.scope == VK_SCOPE_SUBGROUP_KHR) sizes.push_back({one.MSize, one.NSize, one.KSize});
  }
  return sizes;
}

// Most subgroups of any kernel's workgroup.
constexpr uint32_t kMostSubgroups = 8;

std::string unsuitable_subgroups(const VkPhysicalDeviceSubgroupSizeControlProperties& control) {
  const bool fixed = (control.requiredSubgroupSizeStages & VK_SHADER_STAGE_COMPUTE_BIT) == 0;
  if (fixed && control.minSubgroupSize != control.maxSubgroupSize)
    return "the driver does not let compute shaders choose among its subgroup sizes";
  if (control.minSubgroupSize == 0) return "the driver does not tell its subgroup sizes";
  if (control.maxComputeWorkgroupSubgroups < kMostSubgroups)
    return format("the driver allows %u subgroups in a workgroup; %u are needed", control.maxComputeWorkgroupSubgroups,
                  kMostSubgroups);
  return {};
}

}  // namespace

MatrixFeatures::MatrixFeatures()
    : matrix_(structure<VkPhysicalDeviceCooperativeMatrixFeaturesKHR>(
          VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_COOPERATIVE_MATRIX_FEATURES_KHR)),
      half_(structure<VkPhysicalDeviceShaderFloat16Int8Features>(
          VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SHADER_FLOAT16_INT8_FEATURES)),
      model_(structure<VkPhysicalDeviceVulkanMemoryModelFeatures>(
          VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_MEMORY_MODEL_FEATURES)),
      subgroup_(structure<VkPhysicalDeviceSubgroupSizeControlFeatures>(
          VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SUBGROUP_SIZE_CONTROL_FEATURES)) {}

void* MatrixFeatures::chain(void* next) {
  matrix_.cooperativeMatrix = half_.shaderFloat16 = VK_TRUE;
  model_.vulkanMemoryModel = model_.vulkanMemoryModelDeviceScope = VK_TRUE;
  subgroup_.subgroupSizeControl = subgroup_.computeFullSubgroups = VK_TRUE;
  matrix_.pNext = &half_;
  half_.pNext = &model_;
  model_.pNext = &subgroup_;
  subgroup_.pNext = next;
  return &matrix_;
}

std::string MatrixFeatures::missing() const {
  std::string text;
  add_missing(&text, matrix_.cooperativeMatrix == VK_TRUE, "cooperativeMatrix");
  add_missing(&text, half_.shaderFloat16 == VK_TRUE, "shaderFloat16");
  add_missing(&text, model_.vulkanMemoryModel == VK_TRUE, "vulkanMemoryModel");
  add_missing(&text, model_.vulkanMemoryModelDeviceScope == VK_TRUE, "vulkanMemoryModelDeviceScope");
  add_missing(&text, subgroup_.subgroupSizeControl == VK_TRUE, "subgroupSizeControl");
  add_missing(&text, subgroup_.computeFullSubgroups == VK_TRUE, "computeFullSubgroups");
  return text;
}

MatrixUnits read_matrix_units(const Functions& vk, VkPhysicalDevice device, uint32_t api_version, bool extension) {
  MatrixUnits units;
  if (!extension) return units;
  units.missing = "Vulkan 1.3 is needed";
  if (api_version < VK_API_VERSION_1_3) return units;
  MatrixFeatures wanted;
  auto features = structure<VkPhysicalDeviceFeatures2>(VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FEATURES_2);
  features.pNext = wanted.chain(nullptr);
  vk.GetPhysicalDeviceFeatures2(device, &features);
  const std::string missing = wanted.missing();
  units.missing = missing.empty() ? "" : "the driver has no " + missing;
  auto control = structure<VkPhysicalDeviceSubgroupSizeControlProperties>(
      VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SUBGROUP_SIZE_CONTROL_PROPERTIES);
  auto properties = structure<VkPhysicalDeviceProperties2>(VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PROPERTIES_2, &control);
  vk.GetPhysicalDeviceProperties2(device, &properties);
  units.smallest_subgroup = control.minSubgroupSize;
  units.largest_subgroup = control.maxSubgroupSize;
  units.fixed_subgroup = (control.requiredSubgroupSizeStages & VK_SHADER_STAGE_COMPUTE_BIT) == 0;
  if (units.missing.empty()) units.missing = unsuitable_subgroups(control);
  units.sizes = read_sizes(vk, device);
  return units;
}

std::string missing_matrix_features(const VkPhysicalDeviceFeatures2* enabled, std::span<const char* const> extensions) {
  // A feature of Vulkan 1.2 or 1.3 may be said in two structures.
  bool matrix = false, half = false, model = false, device_scope = false, size_control = false, full = false;
  const auto* next =
      enabled == nullptr ? nullptr : as<VkBaseInStructure>(static_cast<const VkBaseInStructure*>(enabled->pNext));
  for (; next != nullptr; next = next->pNext) {
    switch (static_cast<uint32_t>(next->sType)) {  // older headers do not list all of them
      case VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_COOPERATIVE_MATRIX_FEATURES_KHR:
        matrix |= as<VkPhysicalDeviceCooperativeMatrixFeaturesKHR>(next)->cooperativeMatrix == VK_TRUE;
        break;
      case VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SHADER_FLOAT16_INT8_FEATURES:
        half |= as<VkPhysicalDeviceShaderFloat16Int8Features>(next)->shaderFloat16 == VK_TRUE;
        break;
      case VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_MEMORY_MODEL_FEATURES:
        model |= as<VkPhysicalDeviceVulkanMemoryModelFeatures>(next)->vulkanMemoryModel == VK_TRUE;
        device_scope |= as<VkPhysicalDeviceVulkanMemoryModelFeatures>(next)->vulkanMemoryModelDeviceScope == VK_TRUE;
        break;
      case VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SUBGROUP_SIZE_CONTROL_FEATURES: {
        const auto* control = as<VkPhysicalDeviceSubgroupSizeControlFeatures>(next);
        size_control |= control->subgroupSizeControl == VK_TRUE;
        full |= control->computeFullSubgroups == VK_TRUE;
        break;
      }
      case VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_2_FEATURES:
        half |= as<VkPhysicalDeviceVulkan12Features>(next)->shaderFloat16 == VK_TRUE;
        model |= as<VkPhysicalDeviceVulkan12Features>(next)->vulkanMemoryModel == VK_TRUE;
        device_scope |= as<VkPhysicalDeviceVulkan12Features>(next)->vulkanMemoryModelDeviceScope == VK_TRUE;
        break;
      case VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_3_FEATURES:
        size_control |= as<VkPhysicalDeviceVulkan13Features>(next)->subgroupSizeControl == VK_TRUE;
        full |= as<VkPhysicalDeviceVulkan13Features>(next)->computeFullSubgroups == VK_TRUE;
        break;
      default: break;
    }
  }
  const bool extension = contains(extensions, MatrixFeatures::kExtension);
  std::string text;
  add_missing(&text, extension, MatrixFeatures::kExtension);
  add_missing(&text, matrix, "cooperativeMatrix");
  add_missing(&text, half, "shaderFloat16");
  add_missing(&text, model, "vulkanMemoryModel");
  add_missing(&text, device_scope, "vulkanMemoryModelDeviceScope");
  add_missing(&text, size_control, "subgroupSizeControl");
  add_missing(&text, full, "computeFullSubgroups");
  return text;
}

MatrixUse matrix_use() {
  const char* variable = std::getenv("HEED_MATRIX_UNITS");
  const std::string_view text = variable != nullptr ? variable : "";
  if (text == "nv2") return MatrixUse::Nv2;
  return text == "always" ? MatrixUse::Always : text == "never" ? MatrixUse::Never : MatrixUse::Auto;
}

MatrixSize choose_matrix(const MatrixUnits& units, bool software, MatrixUse use, std::string* why) {
  *why = "";
  if (use == MatrixUse::Never)
    *why = "HEED_MATRIX_UNITS=never";
  else if (!units.missing.empty())
    *why = units.missing;
  else if (software && use != MatrixUse::Always)
    *why = "this driver runs them on the CPU, slower than plain arithmetic";
  if (!why->empty()) return {};
  // The largest one: the fewest instructions.
  MatrixSize best;
  for (const MatrixSize& size : units.sizes)
    if (fits_tiles(size) && size.m * size.n * size.k > best.m * best.n * best.k) best = size;
  if (best.m == 0) *why = "no size for f16 with f32 sums divides heed's tiles";
  return best;
}

uint32_t choose_matrix_subgroup(const MatrixUnits& units, uint32_t reported) {
  constexpr uint32_t kUsual = 32;  // what matrix instructions are made for where there is a choice
  if (units.smallest_subgroup <= kUsual && kUsual <= units.largest_subgroup) return kUsual;
  return std::clamp(reported, units.smallest_subgroup, std::max(units.smallest_subgroup, units.largest_subgroup));
}

}  // namespace heed::vulkan

#include "vulkan/probe/matrix_units.hpp"

#include <algorithm>
#include <bit>
#include <string_view>

#include "base/logging.hpp"
#include "base/test_setting.hpp"
#include "vulkan/probe/features.hpp"

namespace heed::vulkan {
namespace {

// Whether tiles of 32 and more can be divided into this size.
bool fits_tiles(const MatrixSize& size) {
  const auto fits = [](uint32_t n) { return std::has_single_bit(n) && n >= 4 && n <= 32; };
  return fits(size.m) && fits(size.n) && fits(size.k);
}

void read_sizes(const Functions& vk, VkPhysicalDevice device, MatrixUnits* units) {
  uint32_t count = 0;
  if (vk.GetPhysicalDeviceCooperativeMatrixPropertiesKHR == nullptr ||
      vk.GetPhysicalDeviceCooperativeMatrixPropertiesKHR(device, &count, nullptr) < 0)
    return;
  std::vector<VkCooperativeMatrixPropertiesKHR> listed(
      count, structure<VkCooperativeMatrixPropertiesKHR>(VK_STRUCTURE_TYPE_COOPERATIVE_MATRIX_PROPERTIES_KHR));
  if (vk.GetPhysicalDeviceCooperativeMatrixPropertiesKHR(device, &count, listed.data()) < 0) return;
  listed.resize(count);
  for (const VkCooperativeMatrixPropertiesKHR& one : listed) {
    if (one.AType != one.BType || one.CType != one.ResultType || one.scope != VK_SCOPE_SUBGROUP_KHR) continue;
    const MatrixSize size = {one.MSize, one.NSize, one.KSize};
    const bool floats = one.CType == VK_COMPONENT_TYPE_FLOAT32_KHR;
    const bool whole = one.CType == VK_COMPONENT_TYPE_SINT32_KHR && one.saturatingAccumulation == VK_FALSE;
    if (floats && one.AType == VK_COMPONENT_TYPE_FLOAT16_KHR) units->sizes.push_back(size);
    if (floats && one.AType == VK_COMPONENT_TYPE_BFLOAT16_KHR) units->bfloat_sizes.push_back(size);
    if (whole && one.AType == VK_COMPONENT_TYPE_SINT8_KHR) units->byte_sizes.push_back(size);
  }
}

// The largest size, which needs the fewest instructions. m == 0 with the reason in *why if none fits.
MatrixSize largest_of(std::span<const MatrixSize> sizes, const char* type, std::string* why) {
  MatrixSize best;
  for (const MatrixSize& size : sizes)
    if (fits_tiles(size) && size.m * size.n * size.k > best.m * best.n * best.k) best = size;
  if (best.m == 0) *why = format("no size for %s divides heed's tiles", type);
  return best;
}

// The most subgroups in a workgroup of any kernel.
constexpr uint32_t kMostSubgroups = 8;

std::string unsuitable_subgroups(const VkPhysicalDeviceSubgroupSizeControlProperties& control, bool fixed) {
  if (fixed && control.minSubgroupSize != control.maxSubgroupSize)
    return "the driver does not let compute shaders choose among its subgroup sizes";
  if (control.minSubgroupSize == 0) return "the driver does not report its subgroup sizes";
  if (control.maxComputeWorkgroupSubgroups < kMostSubgroups)
    return format("the driver allows %u subgroups in a workgroup; %u are needed", control.maxComputeWorkgroupSubgroups,
                  kMostSubgroups);
  return {};
}

std::string untold(const Features& told, std::span<const char* const> extensions, const char* extension,
                   const Features& needed) {
  std::string text;
  if (extension != nullptr && !contains(extensions, extension))
    text = format("%s in HostDevice::enabled_extensions", extension);
  const std::string features = missing_features(told, needed);
  if (!features.empty()) text += (text.empty() ? "" : ", ") + features + " in HostDevice::enabled_features";
  return text;
}

}  // namespace

MatrixUnits read_matrix_units(const Functions& vk, VkPhysicalDevice device, const Features& features) {
  MatrixUnits units;
  const std::string lacks = missing_features(features, kMatrixFeatures);
  units.missing = lacks.empty() ? "" : "the driver has no " + lacks;
  const std::string lacks_bfloat = missing_features(features, kBfloatFeatures);
  units.bfloat_missing = lacks_bfloat.empty() ? "" : "the driver has no " + lacks_bfloat;
  const std::string lacks_bytes = missing_features(features, kByteFeatures);
  units.byte_missing = lacks_bytes.empty() ? "" : "the driver has no " + lacks_bytes;
  auto control = structure<VkPhysicalDeviceSubgroupSizeControlProperties>(
      VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SUBGROUP_SIZE_CONTROL_PROPERTIES);
  auto properties = structure<VkPhysicalDeviceProperties2>(VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PROPERTIES_2, &control);
  vk.GetPhysicalDeviceProperties2(device, &properties);
  units.smallest_subgroup = control.minSubgroupSize;
  units.largest_subgroup = control.maxSubgroupSize;
  units.fixed_subgroup = (control.requiredSubgroupSizeStages & VK_SHADER_STAGE_COMPUTE_BIT) == 0;
  if (units.missing.empty()) units.missing = unsuitable_subgroups(control, units.fixed_subgroup);
  read_sizes(vk, device, &units);
  return units;
}

std::string untold_for_matrices(const Features& told, std::span<const char* const> extensions) {
  return untold(told, extensions, kMatrixExtension, kMatrixFeatures);
}

std::string untold_for_bfloat(const Features& told, std::span<const char* const> extensions) {
  return untold(told, extensions, kBfloatExtension, kBfloatFeatures);
}

std::string untold_for_bytes(const Features& told) { return untold(told, {}, nullptr, kByteFeatures); }

MatrixNeeds matrix_needs(const Capabilities& device) {
  if (device.matrix.m == 0) return {};
  MatrixNeeds needs = {kMatrixFeatures, {kMatrixExtension}};
  needs.features.shaderInt8 = device.byte_matrix.m != 0;
  if (device.bfloat_matrix.m == 0) return needs;
  needs.features.shaderBFloat16Type = needs.features.shaderBFloat16CooperativeMatrix = true;
  needs.extensions.push_back(kBfloatExtension);
  return needs;
}

MatrixUse matrix_use() {
  const std::string_view text = test_setting("HEED_MATRIX_UNITS");
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
  return largest_of(units.sizes, "f16 with f32 sums", why);
}

MatrixSize choose_bfloat_matrix(const MatrixUnits& units, std::string* why) {
  *why = units.bfloat_missing;
  return why->empty() ? largest_of(units.bfloat_sizes, "bf16 with f32 sums", why) : MatrixSize();
}

MatrixSize choose_byte_matrix(const MatrixUnits& units, const MatrixSize& matrix, MatrixUse use, std::string* why) {
  *why = units.byte_missing;
  if (!why->empty()) return {};
  const MatrixSize size = largest_of(units.byte_sizes, "bytes with sums of 32 bits", why);
  if (size.m == 0 || use == MatrixUse::Always) return size;
  // A byte fragment needs three plain instructions for each of its sums. By tests/gpu/profile/model.py those take longer than twice the
  // multiplications of f16 on NVIDIA's units, whose fragments have 16 rows; Intel's have 8.
  constexpr uint32_t kManyRows = 16;
  if (size.k <= matrix.k)
    *why = "their fragments are no deeper than those of f16";
  else if (matrix.m >= kManyRows)
    *why = "scaling their sums takes longer than multiplying f16";
  else
    return size;
  return {};
}

uint32_t choose_matrix_subgroup(const MatrixUnits& units, uint32_t reported) {
  constexpr uint32_t kUsual = 32;  // matrix instructions are optimized for this size if there is a choice
  if (units.smallest_subgroup <= kUsual && kUsual <= units.largest_subgroup) return kUsual;
  return std::clamp(reported, units.smallest_subgroup, std::max(units.smallest_subgroup, units.largest_subgroup));
}

}  // namespace heed::vulkan

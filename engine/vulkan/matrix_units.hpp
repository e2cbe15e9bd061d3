// Matrix units (VK_KHR_cooperative_matrix): what a device has, and whether heed uses it. Reading the device
// is one function; judging what was read is another that needs no device.
//
// heed asks for all of: Vulkan 1.3, the extension, cooperativeMatrix, shaderFloat16, vulkanMemoryModel,
// vulkanMemoryModelDeviceScope (which other kernels need once the model is on), subgroupSizeControl and
// computeFullSubgroups; on an adopted device the host must have enabled them.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "kernels/dispatch.hpp"
#include "vulkan/functions.hpp"

namespace heed::vulkan {

struct MatrixUnits {
  // What is missing, in words; empty if matrix units can be used.
  std::string missing = "the driver has no VK_KHR_cooperative_matrix";
  // Sizes for products of f16 with sums in f32 by one subgroup.
  std::vector<MatrixSize> sizes;
  uint32_t smallest_subgroup = 0, largest_subgroup = 0;
  // Compute shaders have one subgroup size, and pipelines must not ask for it.
  bool fixed_subgroup = false;
};

// `extension`: the device has VK_KHR_cooperative_matrix.
MatrixUnits read_matrix_units(const Functions& vk, VkPhysicalDevice device, uint32_t api_version, bool extension);

// The structures that enable matrix units, for the chain of VkDeviceCreateInfo, and the extension they need.
class MatrixFeatures {
 public:
  MatrixFeatures();
  MatrixFeatures(const MatrixFeatures&) = delete;
  MatrixFeatures& operator=(const MatrixFeatures&) = delete;
  // Puts the structures, all true, before `next`; returns the first. Valid as long as this object.
  void* chain(void* next);
  // Which of the features are not set, as after vkGetPhysicalDeviceFeatures2 with chain(); empty if none.
  std::string missing() const;
  static constexpr const char* kExtension = VK_KHR_COOPERATIVE_MATRIX_EXTENSION_NAME;

 private:
  VkPhysicalDeviceCooperativeMatrixFeaturesKHR matrix_;
  VkPhysicalDeviceShaderFloat16Int8Features half_;
  VkPhysicalDeviceVulkanMemoryModelFeatures model_;
  VkPhysicalDeviceSubgroupSizeControlFeatures subgroup_;
};

// What a host's lists of enabled features and extensions lack for matrix units; empty if nothing.
std::string missing_matrix_features(const VkPhysicalDeviceFeatures2* enabled, std::span<const char* const> extensions);

// The environment variable HEED_MATRIX_UNITS: "always" takes them wherever they can run, for tests; "never";
// "nv2" takes VK_NV_cooperative_matrix2's, too, where the device has them (vulkan/workgroup_matrices.hpp); otherwise
// they are used where they are expected to be faster.
enum class MatrixUse { Auto, Always, Never, Nv2 };
MatrixUse matrix_use();

// The size to use, or m == 0 with the reason in *why. `software`: the driver runs shaders on the CPU, where
// matrix products are slower than plain arithmetic.
MatrixSize choose_matrix(const MatrixUnits& units, bool software, MatrixUse use, std::string* why);
// The subgroup size that kernels with matrices ask for.
uint32_t choose_matrix_subgroup(const MatrixUnits& units, uint32_t reported);

}  // namespace heed::vulkan

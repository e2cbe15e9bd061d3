// Matrices of whole workgroups (VK_NV_cooperative_matrix2): what a device has beyond the matrix units of
// vulkan/matrix_units.hpp, and whether heed uses it.
//
// heed asks for all that matrix units need, and: the extension, cooperativeMatrixWorkgroupScope,
// cooperativeMatrixFlexibleDimensions, cooperativeMatrixReductions, cooperativeMatrixConversions,
// cooperativeMatrixPerElementOperations, cooperativeMatrixTensorAddressing and maintenance4 (SPIR-V 1.6 says the workgroup's
// size by ids); on an adopted device the host must have enabled them.
#pragma once

#include <span>
#include <string>

#include "vulkan/matrix_units.hpp"

namespace heed::vulkan {

struct WorkgroupMatrices {
  // What is missing, in words; empty if they can be used.
  std::string missing = "the driver has no VK_NV_cooperative_matrix2";
  // Of what the sizes of a workgroup's matrices are multiples, for products of f16 with sums in f32; m == 0: none.
  MatrixSize of_128, of_256;  // by the workgroup's invocations
  uint32_t largest = 0;       // rows or columns of a matrix
};

// `units`: of the same device. `extension`: the device has VK_NV_cooperative_matrix2.
WorkgroupMatrices read_workgroup_matrices(const Functions& vk, VkPhysicalDevice device, const MatrixUnits& units,
                                          bool extension);

// The structures that enable them, for the chain of VkDeviceCreateInfo, beside those of MatrixFeatures.
class WorkgroupMatrixFeatures {
 public:
  WorkgroupMatrixFeatures();
  WorkgroupMatrixFeatures(const WorkgroupMatrixFeatures&) = delete;
  WorkgroupMatrixFeatures& operator=(const WorkgroupMatrixFeatures&) = delete;
  // Puts the structures, with what is needed true, before `next`; returns the first. Valid as long as this object.
  void* chain(void* next);
  // Which of the features are not set, as after vkGetPhysicalDeviceFeatures2 with chain(); empty if none.
  std::string missing() const;
  static constexpr const char* kExtension = VK_NV_COOPERATIVE_MATRIX_2_EXTENSION_NAME;

 private:
  VkPhysicalDeviceCooperativeMatrix2FeaturesNV matrix_;
  VkPhysicalDeviceMaintenance4Features maintenance_;
};

// What a host's lists of enabled features and extensions lack for them; empty if nothing.
std::string missing_workgroup_matrix_features(const VkPhysicalDeviceFeatures2* enabled,
                                              std::span<const char* const> extensions);

// Whether kernels with them are made, or why not. Nobody has timed them yet, so that only MatrixUse::Nv2 takes them.
bool uses_workgroup_matrices(const WorkgroupMatrices& matrices, const MatrixSize& units, MatrixUse use,
                             std::string* why);

}  // namespace heed::vulkan

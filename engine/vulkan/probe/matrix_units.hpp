// Matrix units (VK_KHR_cooperative_matrix): the sizes that a device supports, and whether heed uses them. One function reads the device;
// the others evaluate what was read, and need no device.
//
// heed needs Vulkan 1.3, the extension and kMatrixFeatures; the host of an adopted device must have enabled and listed them.
// vulkanMemoryModelDeviceScope is needed by all kernels once the memory model is enabled. bf16 also needs VK_KHR_shader_bfloat16 and
// kBfloatFeatures, bytes need kByteFeatures.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "kernels/dispatch.hpp"
#include "vulkan/probe/features.hpp"

namespace heed::vulkan {

struct MatrixUnits {
  // What is missing; empty if matrix units can be used.
  std::string missing = "the driver has no VK_KHR_cooperative_matrix";
  std::string bfloat_missing, byte_missing;  // additional requirements that are missing for bf16 and for bytes
  // Supported sizes for one subgroup: f16, and bf16, with sums in f32; signed bytes with sums of 32 bits.
  std::vector<MatrixSize> sizes, bfloat_sizes, byte_sizes;
  uint32_t smallest_subgroup = 0, largest_subgroup = 0;
  // Compute shaders have a single subgroup size, and pipelines must not request one.
  bool fixed_subgroup = false;
};

// The device must have Vulkan 1.3 and the extension; `features` are those of its driver.
MatrixUnits read_matrix_units(const Functions& vk, VkPhysicalDevice device, const Features& features);

inline constexpr const char* kMatrixExtension = VK_KHR_COOPERATIVE_MATRIX_EXTENSION_NAME;
inline constexpr Features kMatrixFeatures = {.cooperativeMatrix = true,
                                             .shaderFloat16 = true,
                                             .vulkanMemoryModel = true,
                                             .vulkanMemoryModelDeviceScope = true,
                                             .subgroupSizeControl = true,
                                             .computeFullSubgroups = true};
inline constexpr const char* kBfloatExtension = VK_KHR_SHADER_BFLOAT16_EXTENSION_NAME;
inline constexpr Features kBfloatFeatures = {.shaderBFloat16Type = true, .shaderBFloat16CooperativeMatrix = true};

inline constexpr Features kByteFeatures = {.shaderInt8 = true};

// The requirements of matrix units, also for bf16 and bytes, that the host did not list, each with the HostDevice field for it; empty if
// there are none.
std::string untold_for_matrices(const Features& told, std::span<const char* const> extensions);
std::string untold_for_bfloat(const Features& told, std::span<const char* const> extensions);
std::string untold_for_bytes(const Features& told);

// The features and extensions with which heed creates a device to use its matrix units.
struct MatrixNeeds {
  Features features;
  std::vector<const char*> extensions;
};
MatrixNeeds matrix_needs(const Capabilities& device);

// The test setting HEED_MATRIX_UNITS. "always" uses them wherever they can run; "never" does not; otherwise they are used if they are
// expected to be faster.
enum class MatrixUse { Auto, Always, Never };
MatrixUse matrix_use();

// The size to use, or m == 0 with the reason in *why. `software`: the driver runs shaders on the CPU, where matrix instructions are slower
// than plain arithmetic.
MatrixSize choose_matrix(const MatrixUnits& units, bool software, MatrixUse use, std::string* why);
// The same for bf16, if f16 has a size to use.
MatrixSize choose_bfloat_matrix(const MatrixUnits& units, std::string* why);
// The same for bytes. No driver reports rates, so bytes are used if their size is deeper than that of f16 (`matrix`), since such units
// multiply bytes faster, like those of NVIDIA and Intel.
MatrixSize choose_byte_matrix(const MatrixUnits& units, const MatrixSize& matrix, MatrixUse use, std::string* why);
// The subgroup size that kernels with matrices request.
uint32_t choose_matrix_subgroup(const MatrixUnits& units, uint32_t reported);

}  // namespace heed::vulkan

// Matrix units (VK_KHR_cooperative_matrix): what a device has, and whether heed uses it. Reading the device
// is one function; judging what was read is another that needs no device.
//
// heed asks for Vulkan 1.3, the extension and kMatrixFeatures, of which other kernels need
// vulkanMemoryModelDeviceScope once the model is on; on an adopted device the host must have enabled them and told so.
// Products of bf16 need VK_KHR_shader_bfloat16 and kBfloatFeatures beside them, those of bytes kByteFeatures.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "kernels/dispatch.hpp"
#include "vulkan/probe/features.hpp"

namespace heed::vulkan {

struct MatrixUnits {
  // Says in words what is missing; empty if matrix units can be used.
  std::string missing = "the driver has no VK_KHR_cooperative_matrix";
  std::string bfloat_missing, byte_missing;  // the same for bf16 and for bytes, beside what f16 needs
  // Sizes for products of f16, and of bf16, with sums in f32 by one subgroup; and of signed bytes with sums of 32 bits.
  std::vector<MatrixSize> sizes, bfloat_sizes, byte_sizes;
  uint32_t smallest_subgroup = 0, largest_subgroup = 0;
  // Compute shaders have one subgroup size, and pipelines must not ask for it.
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

// Whatever matrix units need, or bf16 or bytes on them, and a host did not tell, each with the field that would tell it; empty if
// nothing.
std::string untold_for_matrices(const Features& told, std::span<const char* const> extensions);
std::string untold_for_bfloat(const Features& told, std::span<const char* const> extensions);
std::string untold_for_bytes(const Features& told);

// A device is made with these, so that its matrix units can be used.
struct MatrixNeeds {
  Features features;
  std::vector<const char*> extensions;
};
MatrixNeeds matrix_needs(const Capabilities& device);

// The test setting HEED_MATRIX_UNITS: "always" takes them wherever they can run; "never"; otherwise they are used where
// they are expected to be faster.
enum class MatrixUse { Auto, Always, Never };
MatrixUse matrix_use();

// The size to use, or m == 0 with the reason in *why. `software`: the driver runs shaders on the CPU, where
// matrix products are slower than plain arithmetic.
MatrixSize choose_matrix(const MatrixUnits& units, bool software, MatrixUse use, std::string* why);
// The same for bf16, where f16 has a size to use.
MatrixSize choose_bfloat_matrix(const MatrixUnits& units, std::string* why);
// The same for bytes. No driver tells rates: they are used where fragments of bytes are deeper than those of f16 (`matrix`), since
// such units multiply bytes faster, as those of NVIDIA and Intel.
MatrixSize choose_byte_matrix(const MatrixUnits& units, const MatrixSize& matrix, MatrixUse use, std::string* why);
// The subgroup size that kernels with matrices ask for.
uint32_t choose_matrix_subgroup(const MatrixUnits& units, uint32_t reported);

}  // namespace heed::vulkan

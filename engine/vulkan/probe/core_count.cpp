#include "vulkan/probe/core_count.hpp"

#include "vulkan/probe/features.hpp"

namespace heed::vulkan {
namespace {

template <class T>
T read(const Functions& vk, VkPhysicalDevice device, VkStructureType type) {
  auto wanted = structure<T>(type);
  auto properties = structure<VkPhysicalDeviceProperties2>(VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PROPERTIES_2, &wanted);
  vk.GetPhysicalDeviceProperties2(device, &properties);
  return wanted;
}

}  // namespace

uint32_t read_core_count(const Functions& vk, VkPhysicalDevice device,
                         std::span<const VkExtensionProperties> extensions) {
  if (contains(extensions, VK_NV_SHADER_SM_BUILTINS_EXTENSION_NAME))
    return read<VkPhysicalDeviceShaderSMBuiltinsPropertiesNV>(
               vk, device, VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SHADER_SM_BUILTINS_PROPERTIES_NV)
        .shaderSMCount;
  if (contains(extensions, VK_AMD_SHADER_CORE_PROPERTIES_2_EXTENSION_NAME))
    return read<VkPhysicalDeviceShaderCoreProperties2AMD>(
               vk, device, VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SHADER_CORE_PROPERTIES_2_AMD)
        .activeComputeUnitCount;
  if (contains(extensions, VK_AMD_SHADER_CORE_PROPERTIES_EXTENSION_NAME)) {
    const auto cores = read<VkPhysicalDeviceShaderCorePropertiesAMD>(
        vk, device, VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SHADER_CORE_PROPERTIES_AMD);
    return cores.shaderEngineCount * cores.shaderArraysPerEngineCount * cores.computeUnitsPerShaderArray;
  }
  if (contains(extensions, VK_ARM_SHADER_CORE_BUILTINS_EXTENSION_NAME))
    return read<VkPhysicalDeviceShaderCoreBuiltinsPropertiesARM>(
               vk, device, VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SHADER_CORE_BUILTINS_PROPERTIES_ARM)
        .shaderCoreCount;
  return 0;
}

uint32_t likely_core_count(VkPhysicalDeviceType type) {
  switch (type) {
    case VK_PHYSICAL_DEVICE_TYPE_CPU: return 4;
    case VK_PHYSICAL_DEVICE_TYPE_INTEGRATED_GPU: return 16;
    default: return 32;
  }
}

}  // namespace heed::vulkan

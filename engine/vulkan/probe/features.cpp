#include "vulkan/probe/features.hpp"

#include <cstddef>
#include <cstring>
#include <type_traits>

namespace heed::vulkan {
namespace {

// A structure with a feature, and the feature's member.
struct Place {
  VkStructureType structure;
  size_t offset;
  bool Features::* feature;
  const char* name;
};

#define HEED_PLACE(TYPE, Type, member)                                                                             \
  Place {                                                                                                          \
    VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_##TYPE, offsetof(VkPhysicalDevice##Type, member), &Features::member, #member \
  }
constexpr Place kPlaces[] = {
    HEED_PLACE(16BIT_STORAGE_FEATURES, 16BitStorageFeatures, storageBuffer16BitAccess),
    HEED_PLACE(COOPERATIVE_MATRIX_FEATURES_KHR, CooperativeMatrixFeaturesKHR, cooperativeMatrix),
    HEED_PLACE(SHADER_FLOAT16_INT8_FEATURES, ShaderFloat16Int8Features, shaderFloat16),
    HEED_PLACE(SHADER_FLOAT16_INT8_FEATURES, ShaderFloat16Int8Features, shaderInt8),
    HEED_PLACE(VULKAN_MEMORY_MODEL_FEATURES, VulkanMemoryModelFeatures, vulkanMemoryModel),
    HEED_PLACE(VULKAN_MEMORY_MODEL_FEATURES, VulkanMemoryModelFeatures, vulkanMemoryModelDeviceScope),
    HEED_PLACE(SUBGROUP_SIZE_CONTROL_FEATURES, SubgroupSizeControlFeatures, subgroupSizeControl),
    HEED_PLACE(SUBGROUP_SIZE_CONTROL_FEATURES, SubgroupSizeControlFeatures, computeFullSubgroups),
    HEED_PLACE(MAINTENANCE_4_FEATURES, Maintenance4Features, maintenance4),
    HEED_PLACE(SHADER_INTEGER_DOT_PRODUCT_FEATURES, ShaderIntegerDotProductFeatures, shaderIntegerDotProduct),
    HEED_PLACE(SHADER_BFLOAT16_FEATURES_KHR, ShaderBfloat16FeaturesKHR, shaderBFloat16Type),
    HEED_PLACE(SHADER_BFLOAT16_FEATURES_KHR, ShaderBfloat16FeaturesKHR, shaderBFloat16CooperativeMatrix),
    HEED_PLACE(VULKAN_1_1_FEATURES, Vulkan11Features, storageBuffer16BitAccess),
    HEED_PLACE(VULKAN_1_2_FEATURES, Vulkan12Features, shaderFloat16),
    HEED_PLACE(VULKAN_1_2_FEATURES, Vulkan12Features, shaderInt8),
    HEED_PLACE(VULKAN_1_2_FEATURES, Vulkan12Features, vulkanMemoryModel),
    HEED_PLACE(VULKAN_1_2_FEATURES, Vulkan12Features, vulkanMemoryModelDeviceScope),
    HEED_PLACE(VULKAN_1_3_FEATURES, Vulkan13Features, subgroupSizeControl),
    HEED_PLACE(VULKAN_1_3_FEATURES, Vulkan13Features, computeFullSubgroups),
    HEED_PLACE(VULKAN_1_3_FEATURES, Vulkan13Features, maintenance4),
    HEED_PLACE(VULKAN_1_3_FEATURES, Vulkan13Features, shaderIntegerDotProduct),
};
#undef HEED_PLACE

}  // namespace

Features read_features(const void* chain) {
  Features features;
  for (auto* next = static_cast<const VkBaseInStructure*>(chain); next != nullptr; next = next->pNext)
    for (const Place& place : kPlaces) {
      if (place.structure != next->sType) continue;
      VkBool32 said = VK_FALSE;
      std::memcpy(&said, reinterpret_cast<const char*>(next) + place.offset, sizeof said);
      features.*place.feature |= said == VK_TRUE;
    }
  return features;
}

Features read_features(const Functions& vk, VkPhysicalDevice device, const Features& asked) {
  FeatureChain chain(asked, VK_FALSE);
  auto all = structure<VkPhysicalDeviceFeatures2>(VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FEATURES_2, chain.first());
  vk.GetPhysicalDeviceFeatures2(device, &all);
  return read_features(&all);
}

std::string missing_features(Features features, const Features& needed) {
  std::string text;
  for (const Place& place : kPlaces) {
    if (!(needed.*place.feature) || features.*place.feature) continue;
    text.append(text.empty() ? "" : ", ").append(place.name);
    features.*place.feature = true;  // further places of the same feature are not needed
  }
  return text;
}

FeatureChain::FeatureChain(const Features& features, VkBool32 value) {
  const auto add = [&](VkStructureType type, auto* fresh) {
    *fresh = structure<std::remove_pointer_t<decltype(fresh)>>(type, first_);
    for (const Place& place : kPlaces) {
      if (place.structure != type || !(features.*place.feature)) continue;
      std::memcpy(reinterpret_cast<char*>(fresh) + place.offset, &value, sizeof value);
      first_ = fresh;
    }
  };
  add(VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SHADER_BFLOAT16_FEATURES_KHR, &bfloat_);
  add(VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SHADER_INTEGER_DOT_PRODUCT_FEATURES, &dot_);
  add(VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_MAINTENANCE_4_FEATURES, &maintenance_);
  add(VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SUBGROUP_SIZE_CONTROL_FEATURES, &subgroup_);
  add(VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_MEMORY_MODEL_FEATURES, &model_);
  add(VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SHADER_FLOAT16_INT8_FEATURES, &half_);
  add(VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_COOPERATIVE_MATRIX_FEATURES_KHR, &matrix_);
  add(VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_16BIT_STORAGE_FEATURES, &storage_);
}

}  // namespace heed::vulkan

// The features that heed uses or reports, and one table with which they are read from and written to chains of Vulkan's structures.
#pragma once

#include <algorithm>
#include <span>
#include <string>
#include <string_view>

#include "vulkan/calls/functions.hpp"

namespace heed::vulkan {

// The features that a driver has, that a host enabled, or that heed enables. The names are Vulkan's.
struct Features {
  bool storageBuffer16BitAccess = false;
  bool cooperativeMatrix = false;
  bool shaderFloat16 = false, shaderInt8 = false;
  bool vulkanMemoryModel = false, vulkanMemoryModelDeviceScope = false;
  bool subgroupSizeControl = false, computeFullSubgroups = false;
  bool maintenance4 = false;
  bool shaderIntegerDotProduct = false;
  bool shaderBFloat16Type = false, shaderBFloat16CooperativeMatrix = false;
};

// Reads features from a pNext chain, which may have a feature in an extension's structure or in one of Vulkan 1.1, 1.2 or 1.3.
Features read_features(const void* chain);
// Queries those features from the driver that `asked` selects; it must know their structures.
Features read_features(const Functions& vk, VkPhysicalDevice device, const Features& asked);
// The names of features in `needed` that `features` lacks, separated by commas.
std::string missing_features(Features features, const Features& needed);

// A chain of structures with `features`, for VkDeviceCreateInfo.
class FeatureChain {
 public:
  explicit FeatureChain(const Features& features, VkBool32 value = VK_TRUE);
  FeatureChain(const FeatureChain&) = delete;
  FeatureChain& operator=(const FeatureChain&) = delete;
  // Null if the chain is empty. Valid as long as this object.
  void* first() { return first_; }

 private:
  void* first_ = nullptr;
  VkPhysicalDevice16BitStorageFeatures storage_;
  VkPhysicalDeviceCooperativeMatrixFeaturesKHR matrix_;
  VkPhysicalDeviceShaderFloat16Int8Features half_;
  VkPhysicalDeviceVulkanMemoryModelFeatures model_;
  VkPhysicalDeviceSubgroupSizeControlFeatures subgroup_;
  VkPhysicalDeviceMaintenance4Features maintenance_;
  VkPhysicalDeviceShaderIntegerDotProductFeatures dot_;
  VkPhysicalDeviceShaderBfloat16FeaturesKHR bfloat_;
};

// Whether this extension is in a device's, or a host's, list.
inline bool contains(std::span<const VkExtensionProperties> extensions, std::string_view name) {
  return std::any_of(extensions.begin(), extensions.end(),
                     [&](const VkExtensionProperties& one) { return one.extensionName == name; });
}
inline bool contains(std::span<const char* const> extensions, std::string_view name) {
  return std::any_of(extensions.begin(), extensions.end(), [&](const char* one) { return one == name; });
}

}  // namespace heed::vulkan

// The create-info structures of vkCreateComputePipelines for one kernel.
#pragma once

#include <array>

#include "kernels/dispatch.hpp"
#include "vulkan/calls/functions.hpp"

namespace heed::vulkan {

// Contains pointers to itself and to the key.
class ComputePipelineInfo {
 public:
  // `fixed_subgroup`: see MatrixUnits. All arguments must outlive this object.
  ComputePipelineInfo(const KernelKey& key, const char* entry_point, VkShaderModule module, VkPipelineLayout layout,
                      bool fixed_subgroup);
  ComputePipelineInfo(const ComputePipelineInfo&) = delete;
  ComputePipelineInfo& operator=(const ComputePipelineInfo&) = delete;

  VkComputePipelineCreateInfo info;

 private:
  std::array<VkSpecializationMapEntry, kMaxSpecConstants> map_{};
  VkSpecializationInfo constants_{};
  VkPipelineShaderStageRequiredSubgroupSizeCreateInfo subgroup_;
};

}  // namespace heed::vulkan

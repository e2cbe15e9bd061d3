// What vkCreateComputePipelines is told of one kernel.
#pragma once

#include <array>

#include "kernels/dispatch.hpp"
#include "vulkan/functions.hpp"

namespace heed::vulkan {

// Points into itself and at the key.
class PipelineInfo {
 public:
  // `fixed_subgroup`: see MatrixUnits. All of these must outlive this object.
  PipelineInfo(const KernelKey& key, const char* entry_point, VkShaderModule module, VkPipelineLayout layout,
               bool fixed_subgroup);
  PipelineInfo(const PipelineInfo&) = delete;
  PipelineInfo& operator=(const PipelineInfo&) = delete;

  VkComputePipelineCreateInfo info;

 private:
  std::array<VkSpecializationMapEntry, kMaxSpecConstants> map_{};
  VkSpecializationInfo constants_{};
  VkPipelineShaderStageRequiredSubgroupSizeCreateInfo subgroup_;
};

}  // namespace heed::vulkan

#include "vulkan/pipelines/pipeline_info.hpp"

namespace heed::vulkan {

ComputePipelineInfo::ComputePipelineInfo(const KernelKey& key, const char* entry_point, VkShaderModule module,
                                         VkPipelineLayout layout, bool fixed_subgroup)
    : info(structure<VkComputePipelineCreateInfo>(VK_STRUCTURE_TYPE_COMPUTE_PIPELINE_CREATE_INFO)),
      subgroup_(structure<VkPipelineShaderStageRequiredSubgroupSizeCreateInfo>(
          VK_STRUCTURE_TYPE_PIPELINE_SHADER_STAGE_REQUIRED_SUBGROUP_SIZE_CREATE_INFO)) {
  for (uint32_t i = 0; i < key.spec_count; ++i)
    map_[i] = {i, i * static_cast<uint32_t>(sizeof(uint32_t)), sizeof(uint32_t)};
  constants_ = {key.spec_count, map_.data(), key.spec_count * sizeof(uint32_t), key.spec.data()};
  info.flags = VK_PIPELINE_CREATE_DISPATCH_BASE;  // long dispatches are recorded in pieces
  info.stage = structure<VkPipelineShaderStageCreateInfo>(VK_STRUCTURE_TYPE_PIPELINE_SHADER_STAGE_CREATE_INFO);
  info.stage.stage = VK_SHADER_STAGE_COMPUTE_BIT;
  info.stage.module = module;
  info.stage.pName = entry_point;
  info.stage.pSpecializationInfo = &constants_;
  info.layout = layout;
  if (key.subgroup == 0) return;
  info.stage.flags = VK_PIPELINE_SHADER_STAGE_CREATE_REQUIRE_FULL_SUBGROUPS_BIT;
  subgroup_.requiredSubgroupSize = key.subgroup;
  if (!fixed_subgroup) info.stage.pNext = &subgroup_;
}

}  // namespace heed::vulkan

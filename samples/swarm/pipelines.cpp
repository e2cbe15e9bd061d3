// The pipelines of resources.hpp.
#include "resources.hpp"

namespace swarm {
namespace {

Owned<VkShaderModule> make_module(const Gpu& gpu, std::span<const uint32_t> code) {
  auto info = structure<VkShaderModuleCreateInfo>(VK_STRUCTURE_TYPE_SHADER_MODULE_CREATE_INFO);
  info.codeSize = code.size_bytes();
  info.pCode = code.data();
  VkShaderModule handle;
  check(vkCreateShaderModule(gpu.device, &info, nullptr, &handle), "vkCreateShaderModule");
  return {gpu.device, handle, vkDestroyShaderModule};
}

VkPipelineShaderStageCreateInfo make_stage(VkShaderStageFlagBits stage, VkShaderModule module) {
  auto info = structure<VkPipelineShaderStageCreateInfo>(VK_STRUCTURE_TYPE_PIPELINE_SHADER_STAGE_CREATE_INFO);
  info.stage = stage;
  info.module = module;
  info.pName = "main";
  return info;
}

// Blend::Over expects premultiplied colours. The picture's alpha stays 1.
VkPipelineColorBlendAttachmentState blend_state(Blend blend) {
  VkPipelineColorBlendAttachmentState state{};
  state.colorWriteMask = VK_COLOR_COMPONENT_R_BIT | VK_COLOR_COMPONENT_G_BIT | VK_COLOR_COMPONENT_B_BIT;
  if (blend == Blend::Opaque) state.colorWriteMask |= VK_COLOR_COMPONENT_A_BIT;
  state.blendEnable = blend != Blend::Opaque;
  state.srcColorBlendFactor = state.srcAlphaBlendFactor = VK_BLEND_FACTOR_ONE;
  state.dstColorBlendFactor = blend == Blend::Add ? VK_BLEND_FACTOR_ONE : VK_BLEND_FACTOR_ONE_MINUS_SRC_ALPHA;
  state.dstAlphaBlendFactor = state.dstColorBlendFactor;
  return state;
}

}  // namespace

Owned<VkPipeline> make_compute(const Gpu& gpu, VkPipelineLayout layout, std::span<const uint32_t> code) {
  const Owned<VkShaderModule> module = make_module(gpu, code);
  auto info = structure<VkComputePipelineCreateInfo>(VK_STRUCTURE_TYPE_COMPUTE_PIPELINE_CREATE_INFO);
  info.stage = make_stage(VK_SHADER_STAGE_COMPUTE_BIT, module);
  info.layout = layout;
  VkPipeline pipeline;
  check(vkCreateComputePipelines(gpu.device, VK_NULL_HANDLE, 1, &info, nullptr, &pipeline), "vkCreateComputePipelines");
  return {gpu.device, pipeline, vkDestroyPipeline};
}

Owned<VkPipeline> make_graphics(const Gpu& gpu, VkPipelineLayout layout, VkRenderPass pass,
                                VkSampleCountFlagBits samples, const DrawInfo& what) {
  const Owned<VkShaderModule> vertex = make_module(gpu, what.vertex), fragment = make_module(gpu, what.fragment);
  const VkPipelineShaderStageCreateInfo stages[] = {make_stage(VK_SHADER_STAGE_VERTEX_BIT, vertex),
                                                    make_stage(VK_SHADER_STAGE_FRAGMENT_BIT, fragment)};
  const auto input =
      structure<VkPipelineVertexInputStateCreateInfo>(VK_STRUCTURE_TYPE_PIPELINE_VERTEX_INPUT_STATE_CREATE_INFO);
  auto assembly =
      structure<VkPipelineInputAssemblyStateCreateInfo>(VK_STRUCTURE_TYPE_PIPELINE_INPUT_ASSEMBLY_STATE_CREATE_INFO);
  assembly.topology = what.topology;
  auto viewport = structure<VkPipelineViewportStateCreateInfo>(VK_STRUCTURE_TYPE_PIPELINE_VIEWPORT_STATE_CREATE_INFO);
  viewport.viewportCount = viewport.scissorCount = 1;
  auto raster =
      structure<VkPipelineRasterizationStateCreateInfo>(VK_STRUCTURE_TYPE_PIPELINE_RASTERIZATION_STATE_CREATE_INFO);
  raster.polygonMode = VK_POLYGON_MODE_FILL;
  raster.lineWidth = 1.0f;
  auto multisample =
      structure<VkPipelineMultisampleStateCreateInfo>(VK_STRUCTURE_TYPE_PIPELINE_MULTISAMPLE_STATE_CREATE_INFO);
  multisample.rasterizationSamples = samples;
  auto depth =
      structure<VkPipelineDepthStencilStateCreateInfo>(VK_STRUCTURE_TYPE_PIPELINE_DEPTH_STENCIL_STATE_CREATE_INFO);
  depth.depthTestEnable = what.depth_test;
  depth.depthWriteEnable = what.depth_test && what.blend == Blend::Opaque;
  depth.depthCompareOp = VK_COMPARE_OP_LESS_OR_EQUAL;
  const VkPipelineColorBlendAttachmentState attachment = blend_state(what.blend);
  auto blend = structure<VkPipelineColorBlendStateCreateInfo>(VK_STRUCTURE_TYPE_PIPELINE_COLOR_BLEND_STATE_CREATE_INFO);
  blend.attachmentCount = 1;
  blend.pAttachments = &attachment;
  const VkDynamicState states[] = {VK_DYNAMIC_STATE_VIEWPORT, VK_DYNAMIC_STATE_SCISSOR};
  auto dynamic = structure<VkPipelineDynamicStateCreateInfo>(VK_STRUCTURE_TYPE_PIPELINE_DYNAMIC_STATE_CREATE_INFO);
  dynamic.dynamicStateCount = 2;
  dynamic.pDynamicStates = states;

  auto info = structure<VkGraphicsPipelineCreateInfo>(VK_STRUCTURE_TYPE_GRAPHICS_PIPELINE_CREATE_INFO);
  info.stageCount = 2;
  info.pStages = stages;
  info.pVertexInputState = &input;
  info.pInputAssemblyState = &assembly;
  info.pViewportState = &viewport;
  info.pRasterizationState = &raster;
  info.pMultisampleState = &multisample;
  info.pDepthStencilState = &depth;
  info.pColorBlendState = &blend;
  info.pDynamicState = &dynamic;
  info.layout = layout;
  info.renderPass = pass;
  VkPipeline pipeline;
  check(vkCreateGraphicsPipelines(gpu.device, VK_NULL_HANDLE, 1, &info, nullptr, &pipeline),
        "vkCreateGraphicsPipelines");
  return {gpu.device, pipeline, vkDestroyPipeline};
}

}  // namespace swarm

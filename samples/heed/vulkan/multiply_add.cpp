#include "vulkan/multiply_add.hpp"

#include "multiply_add_spirv.hpp"

namespace heed::program {

namespace {

constexpr uint32_t kLocalSize = 64, kChains = 12, kStepsUnrolled = 16;  // as in the shader
constexpr uint32_t kMostSteps = 1u << 18;

struct Push {
  uint32_t steps;
  float factor, addend, never;
};

}  // namespace

MultiplyAdd::~MultiplyAdd() {
  const VkDevice device = device_.device();
  if (!device) return;
  device_.vk().DeviceWaitIdle(device);
  device_.vk().DestroyDescriptorPool(device, descriptors_, nullptr);
  device_.vk().DestroyPipeline(device, pipeline_, nullptr);
  device_.vk().DestroyPipelineLayout(device, layout_, nullptr);
  device_.vk().DestroyDescriptorSetLayout(device, set_layout_, nullptr);
  device_.vk().DestroyShaderModule(device, module_, nullptr);
}

const char* MultiplyAdd::make(VkBuffer sink) {
  const char* failed = make_pipeline();
  return failed ? failed : make_descriptors(sink);
}

const char* MultiplyAdd::make_pipeline() {
  const BareCalls& vk = device_.vk();
  const VkDevice device = device_.device();
  const VkShaderModuleCreateInfo module = {.sType = VK_STRUCTURE_TYPE_SHADER_MODULE_CREATE_INFO,
                                           .codeSize = sizeof kMultiplyAddSpirv,
                                           .pCode = kMultiplyAddSpirv};
  if (vk.CreateShaderModule(device, &module, nullptr, &module_) != VK_SUCCESS) return "vkCreateShaderModule";
  const VkDescriptorSetLayoutBinding binding = {.descriptorType = VK_DESCRIPTOR_TYPE_STORAGE_BUFFER,
                                                .descriptorCount = 1,
                                                .stageFlags = VK_SHADER_STAGE_COMPUTE_BIT};
  const VkDescriptorSetLayoutCreateInfo set = {
      .sType = VK_STRUCTURE_TYPE_DESCRIPTOR_SET_LAYOUT_CREATE_INFO, .bindingCount = 1, .pBindings = &binding};
  if (vk.CreateDescriptorSetLayout(device, &set, nullptr, &set_layout_) != VK_SUCCESS)
    return "vkCreateDescriptorSetLayout";
  const VkPushConstantRange range = {.stageFlags = VK_SHADER_STAGE_COMPUTE_BIT, .size = sizeof(Push)};
  const VkPipelineLayoutCreateInfo layout = {.sType = VK_STRUCTURE_TYPE_PIPELINE_LAYOUT_CREATE_INFO,
                                             .setLayoutCount = 1,
                                             .pSetLayouts = &set_layout_,
                                             .pushConstantRangeCount = 1,
                                             .pPushConstantRanges = &range};
  if (vk.CreatePipelineLayout(device, &layout, nullptr, &layout_) != VK_SUCCESS) return "vkCreatePipelineLayout";
  const VkComputePipelineCreateInfo pipeline = {.sType = VK_STRUCTURE_TYPE_COMPUTE_PIPELINE_CREATE_INFO,
                                                .stage = {.sType = VK_STRUCTURE_TYPE_PIPELINE_SHADER_STAGE_CREATE_INFO,
                                                          .stage = VK_SHADER_STAGE_COMPUTE_BIT,
                                                          .module = module_,
                                                          .pName = "main"},
                                                .layout = layout_};
  const VkResult made = vk.CreateComputePipelines(device, VK_NULL_HANDLE, 1, &pipeline, nullptr, &pipeline_);
  return made == VK_SUCCESS ? nullptr : "vkCreateComputePipelines";
}

const char* MultiplyAdd::make_descriptors(VkBuffer sink) {
  const BareCalls& vk = device_.vk();
  const VkDevice device = device_.device();
  const VkDescriptorPoolSize size = {VK_DESCRIPTOR_TYPE_STORAGE_BUFFER, 1};
  const VkDescriptorPoolCreateInfo pool = {
      .sType = VK_STRUCTURE_TYPE_DESCRIPTOR_POOL_CREATE_INFO, .maxSets = 1, .poolSizeCount = 1, .pPoolSizes = &size};
  if (vk.CreateDescriptorPool(device, &pool, nullptr, &descriptors_) != VK_SUCCESS) return "vkCreateDescriptorPool";
  const VkDescriptorSetAllocateInfo allocate = {.sType = VK_STRUCTURE_TYPE_DESCRIPTOR_SET_ALLOCATE_INFO,
                                                .descriptorPool = descriptors_,
                                                .descriptorSetCount = 1,
                                                .pSetLayouts = &set_layout_};
  if (vk.AllocateDescriptorSets(device, &allocate, &set_) != VK_SUCCESS) return "vkAllocateDescriptorSets";
  const VkDescriptorBufferInfo buffer = {sink, 0, VK_WHOLE_SIZE};
  const VkWriteDescriptorSet write = {.sType = VK_STRUCTURE_TYPE_WRITE_DESCRIPTOR_SET,
                                      .dstSet = set_,
                                      .descriptorCount = 1,
                                      .descriptorType = VK_DESCRIPTOR_TYPE_STORAGE_BUFFER,
                                      .pBufferInfo = &buffer};
  vk.UpdateDescriptorSets(device, 1, &write, 0, nullptr);
  return nullptr;
}

double MultiplyAdd::operations(uint32_t steps) {
  return 2.0 * kGroups * kLocalSize * kChains * kStepsUnrolled * static_cast<double>(steps);
}

void MultiplyAdd::record(VkCommandBuffer commands, uint32_t steps) const {
  const BareCalls& vk = device_.vk();
  vk.CmdBindPipeline(commands, VK_PIPELINE_BIND_POINT_COMPUTE, pipeline_);
  vk.CmdBindDescriptorSets(commands, VK_PIPELINE_BIND_POINT_COMPUTE, layout_, 0, 1, &set_, 0, nullptr);
  const Push push = {steps, 0.999f, 0.001f, -1e30f};
  vk.CmdPushConstants(commands, layout_, VK_SHADER_STAGE_COMPUTE_BIT, 0, sizeof push, &push);
  vk.CmdDispatch(commands, kGroups, 1, 1);
}

// Doubles the work until the launch time is negligible. The first dispatch does not count, since software drivers compile the shader in it.
uint32_t MultiplyAdd::steps_for(double seconds) const {
  const auto seconds_of = [&](uint32_t steps) {
    return device_.time([&](VkCommandBuffer commands) {
      record(commands, steps);
      return true;
    });
  };
  if (seconds_of(1) <= 0) return 0;
  for (uint32_t steps = 2;; steps *= 2) {
    const double took = seconds_of(steps);
    if (took <= 0) return 0;
    if (took < seconds / 2 && steps < kMostSteps) continue;
    const double scaled = static_cast<double>(steps) * seconds / took;
    return scaled < 1 ? 1 : scaled > kMostSteps ? kMostSteps : static_cast<uint32_t>(scaled);
  }
}

}  // namespace heed::program

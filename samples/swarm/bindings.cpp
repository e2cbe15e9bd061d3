#include "bindings.hpp"

#include <algorithm>

#include "motives.hpp"

namespace swarm {
namespace {

constexpr VkShaderStageFlags kStages =
    VK_SHADER_STAGE_COMPUTE_BIT | VK_SHADER_STAGE_VERTEX_BIT | VK_SHADER_STAGE_FRAGMENT_BIT;
// Drawing shaders do not bind the buffers of a hunt, since devices limit the number of buffers in a stage.
VkShaderStageFlags stages_of(uint32_t binding) {
  const bool of_hunt = binding >= SWARM_BIND_SEEN && binding < SWARM_BIND_FONT;
  return of_hunt ? VkShaderStageFlags{VK_SHADER_STAGE_COMPUTE_BIT} : kStages;
}

constexpr VkBufferUsageFlags kStorage = VK_BUFFER_USAGE_STORAGE_BUFFER_BIT;

VkDescriptorType type_of(uint32_t binding) {
  if (binding == SWARM_BIND_FRAME) return VK_DESCRIPTOR_TYPE_UNIFORM_BUFFER;
  return binding == SWARM_BIND_FONT ? VK_DESCRIPTOR_TYPE_COMBINED_IMAGE_SAMPLER : VK_DESCRIPTOR_TYPE_STORAGE_BUFFER;
}

}  // namespace

Bindings::Bindings(const Gpu& gpu) : gpu_(gpu) {
  // Reports and tests read agents and targets back; frames never do.
  constexpr VkBufferUsageFlags kRead = kStorage | VK_BUFFER_USAGE_TRANSFER_SRC_BIT;
  constexpr VkDeviceSize kRow = SWARM_ROW * sizeof(float), kVec4 = sizeof(vec4);
  agents = make_buffer(gpu, kMaxAgents * kRow, kRead);
  targets = make_buffer(gpu, kMaxTargets * kRow, kRead);
  look = make_buffer(gpu, kMaxAgents * SWARM_LOOK4 * kVec4, kStorage | VK_BUFFER_USAGE_TRANSFER_DST_BIT);
  trails = make_buffer(gpu, kMaxAgents * SWARM_TRAIL * kVec4, kStorage);
  pick = make_buffer(gpu, kRow + kVec4, kStorage);
  weights = make_buffer(gpu, kMaxAgents * SWARM_HEADS * sizeof(float), kStorage);
  links = make_buffer(gpu, SWARM_HEADS * SWARM_LINKS * 2 * sizeof(uint32_t), kStorage);
  seen = make_buffer(gpu, kMaxAgents * SWARM_SEEN4 * kVec4, kStorage);
  action = make_buffer(gpu, kMaxAgents * kVec4, kStorage);
  lives = make_buffer(gpu, kMaxAgents * 2 * kVec4, kStorage);
  tried = make_buffer(gpu, kMaxAgents * SWARM_TRY4 * kVec4, kStorage);
  places = make_buffer(gpu, kMaxAgents * sizeof(int32_t), kStorage);
  picks = make_buffer(gpu, SWARM_BATCH * (sizeof(int32_t) + kVec4), kStorage);
  counts = make_buffer(gpu, sizeof(Counts), kStorage);
  for (uint32_t i = 0; i < kSlots; ++i) {
    tallies_[i] = make_buffer(gpu, sizeof(Counts), kStorage, Where::Host);
    frames_[i] = make_buffer(gpu, sizeof(Frame), VK_BUFFER_USAGE_UNIFORM_BUFFER_BIT, Where::Host);
    boxes_[i] = make_buffer(gpu, kMaxBoxes * sizeof(Box), kStorage, Where::Host);
  }
  make_layout();
  make_sets();
}

void Bindings::make_layout() {
  std::array<VkDescriptorSetLayoutBinding, SWARM_BINDINGS> list{};
  for (uint32_t i = 0; i < list.size(); ++i) list[i] = {i, type_of(i), 1, stages_of(i), nullptr};
  auto set_info = structure<VkDescriptorSetLayoutCreateInfo>(VK_STRUCTURE_TYPE_DESCRIPTOR_SET_LAYOUT_CREATE_INFO);
  set_info.bindingCount = SWARM_BINDINGS;
  set_info.pBindings = list.data();
  VkDescriptorSetLayout set_layout;
  check(vkCreateDescriptorSetLayout(gpu_.device, &set_info, nullptr, &set_layout), "vkCreateDescriptorSetLayout");
  set_layout_ = {gpu_.device, set_layout, vkDestroyDescriptorSetLayout};

  const VkPushConstantRange push = {VK_SHADER_STAGE_COMPUTE_BIT, 0, sizeof(uint32_t)};
  auto info = structure<VkPipelineLayoutCreateInfo>(VK_STRUCTURE_TYPE_PIPELINE_LAYOUT_CREATE_INFO);
  info.setLayoutCount = 1;
  info.pSetLayouts = &set_layout;
  info.pushConstantRangeCount = 1;
  info.pPushConstantRanges = &push;
  VkPipelineLayout layout;
  check(vkCreatePipelineLayout(gpu_.device, &info, nullptr, &layout), "vkCreatePipelineLayout");
  layout_ = {gpu_.device, layout, vkDestroyPipelineLayout};
}

void Bindings::make_sets() {
  const VkDescriptorPoolSize sizes[] = {
      {VK_DESCRIPTOR_TYPE_UNIFORM_BUFFER, kSlots},
      {VK_DESCRIPTOR_TYPE_STORAGE_BUFFER, kSlots * (SWARM_BINDINGS - 2)},
      {VK_DESCRIPTOR_TYPE_COMBINED_IMAGE_SAMPLER, kSlots},
  };
  auto pool_info = structure<VkDescriptorPoolCreateInfo>(VK_STRUCTURE_TYPE_DESCRIPTOR_POOL_CREATE_INFO);
  pool_info.maxSets = kSlots;
  pool_info.poolSizeCount = 3;
  pool_info.pPoolSizes = sizes;
  VkDescriptorPool pool;
  check(vkCreateDescriptorPool(gpu_.device, &pool_info, nullptr, &pool), "vkCreateDescriptorPool");
  pool_ = {gpu_.device, pool, vkDestroyDescriptorPool};
  std::array<VkDescriptorSetLayout, kSlots> layouts;
  layouts.fill(set_layout_);
  auto info = structure<VkDescriptorSetAllocateInfo>(VK_STRUCTURE_TYPE_DESCRIPTOR_SET_ALLOCATE_INFO);
  info.descriptorPool = pool_;
  info.descriptorSetCount = kSlots;
  info.pSetLayouts = layouts.data();
  check(vkAllocateDescriptorSets(gpu_.device, &info, sets_.data()), "vkAllocateDescriptorSets");

  for (uint32_t slot = 0; slot < kSlots; ++slot) {
    const VkBuffer buffers[] = {
        frames_[slot].handle, agents.handle, targets.handle,      look.handle,   trails.handle,        pick.handle,
        weights.handle,       links.handle,  boxes_[slot].handle, seen.handle,   action.handle,        lives.handle,
        tried.handle,         places.handle, picks.handle,        counts.handle, tallies_[slot].handle};
    static_assert(std::size(buffers) == SWARM_BIND_FONT);
    for (uint32_t i = 0; i < std::size(buffers); ++i) {
      const VkDescriptorBufferInfo range = {buffers[i], 0, VK_WHOLE_SIZE};
      auto write = structure<VkWriteDescriptorSet>(VK_STRUCTURE_TYPE_WRITE_DESCRIPTOR_SET);
      write.dstSet = sets_[slot];
      write.dstBinding = i;
      write.descriptorCount = 1;
      write.descriptorType = type_of(i);
      write.pBufferInfo = &range;
      vkUpdateDescriptorSets(gpu_.device, 1, &write, 0, nullptr);
    }
  }
}

void Bindings::set_font(VkImageView view) {
  auto info = structure<VkSamplerCreateInfo>(VK_STRUCTURE_TYPE_SAMPLER_CREATE_INFO);
  info.addressModeU = info.addressModeV = info.addressModeW = VK_SAMPLER_ADDRESS_MODE_CLAMP_TO_EDGE;
  VkSampler sampler;
  check(vkCreateSampler(gpu_.device, &info, nullptr, &sampler), "vkCreateSampler");
  sampler_ = {gpu_.device, sampler, vkDestroySampler};
  const VkDescriptorImageInfo image = {sampler_, view, VK_IMAGE_LAYOUT_SHADER_READ_ONLY_OPTIMAL};
  for (VkDescriptorSet set : sets_) {
    auto write = structure<VkWriteDescriptorSet>(VK_STRUCTURE_TYPE_WRITE_DESCRIPTOR_SET);
    write.dstSet = set;
    write.dstBinding = SWARM_BIND_FONT;
    write.descriptorCount = 1;
    write.descriptorType = VK_DESCRIPTOR_TYPE_COMBINED_IMAGE_SAMPLER;
    write.pImageInfo = &image;
    vkUpdateDescriptorSets(gpu_.device, 1, &write, 0, nullptr);
  }
}

Counts Bindings::tally(uint32_t slot) const {
  Counts counts;
  std::memcpy(&counts, tallies_[slot].mapped, sizeof counts);
  return counts;
}

void Bindings::write(uint32_t slot, const Frame& frame, std::span<const Box> boxes) {
  std::memcpy(frames_[slot].mapped, &frame, sizeof frame);
  const size_t count = std::min<size_t>(boxes.size(), kMaxBoxes);
  if (count != 0) std::memcpy(boxes_[slot].mapped, boxes.data(), count * sizeof(Box));
}

}  // namespace swarm

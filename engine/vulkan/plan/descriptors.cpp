// Descriptor sets of a plan. All are allocated by compile. A set with only the plan's own buffers is shared by all slots and never changed
// again. One with a host buffer exists once per slot, and record rewrites its host descriptors each time. Comparing handles with those of
// the last recording would not work, since a host may have destroyed a buffer and got the same handle for a new one.
#include "vulkan/plan/plan.hpp"

namespace heed::vulkan {
namespace {

// `info` must stay valid until the write is done.
VkWriteDescriptorSet write_of(VkDescriptorSet set, uint32_t binding, const VkDescriptorBufferInfo* info) {
  auto write = structure<VkWriteDescriptorSet>(VK_STRUCTURE_TYPE_WRITE_DESCRIPTOR_SET);
  write.dstSet = set;
  write.dstBinding = binding;
  write.descriptorCount = 1;
  write.descriptorType = VK_DESCRIPTOR_TYPE_STORAGE_BUFFER;
  write.pBufferInfo = info;
  return write;
}

}  // namespace

Status VulkanPlan::create_descriptor_pool() {
  uint32_t sets = 0, descriptors = 0;
  for (const CompiledKernel& kernel : kernels_) {
    const uint32_t copies = kernel.per_slot() ? options_.record_slots : 1;
    sets += copies;
    descriptors += copies * kernel.binding_count;
  }
  if (sets == 0) return Status::Ok;
  const VkDescriptorPoolSize size = {VK_DESCRIPTOR_TYPE_STORAGE_BUFFER, descriptors};
  auto info = structure<VkDescriptorPoolCreateInfo>(VK_STRUCTURE_TYPE_DESCRIPTOR_POOL_CREATE_INFO);
  info.maxSets = sets;
  info.poolSizeCount = 1;
  info.pPoolSizes = &size;
  return context_.check("vkCreateDescriptorPool", context_.vk.CreateDescriptorPool(
                                                      context_.device, &info, context_.allocator, &descriptor_pool_));
}

Status VulkanPlan::allocate_sets() {
  for (uint32_t k = 0; k < kernels_.size(); ++k) {
    const VkDescriptorSetLayout layout = device_pipelines_.set_layout(kernels_[k].binding_count);
    auto info = structure<VkDescriptorSetAllocateInfo>(VK_STRUCTURE_TYPE_DESCRIPTOR_SET_ALLOCATE_INFO);
    info.descriptorPool = descriptor_pool_;
    info.descriptorSetCount = 1;
    info.pSetLayouts = &layout;
    for (uint32_t s = 0; s < slots_.size(); ++s) {
      if (s > 0 && !kernels_[k].per_slot()) {
        slots_[s].sets[k] = slots_[0].sets[k];
        continue;
      }
      const Status status = context_.check(
          "vkAllocateDescriptorSets", context_.vk.AllocateDescriptorSets(context_.device, &info, &slots_[s].sets[k]));
      if (status != Status::Ok) return status;
      write_fixed_descriptors(k, s, false);
    }
  }
  return Status::Ok;
}

// Skips scratch that the host has not given yet; `scratch_only` writes only that, once it is given.
void VulkanPlan::write_fixed_descriptors(uint32_t kernel_index, uint32_t slot_index, bool scratch_only) {
  const CompiledKernel& kernel = kernels_[kernel_index];
  const Slot& slot = slots_[slot_index];
  std::array<VkDescriptorBufferInfo, kMaxBindings> infos{};
  std::array<VkWriteDescriptorSet, kMaxBindings> writes{};
  uint32_t count = 0;
  for (uint32_t b = 0; b < kernel.binding_count; ++b) {
    const bool scratch = kernel.bindings[b].source == Binding::Source::Scratch;
    if (kernel.bindings[b].source == Binding::Source::Host || (scratch_only && !scratch)) continue;
    if (scratch && scratch_at_.buffer == VK_NULL_HANDLE) continue;
    const BoundRange range = range_of(kernel.bindings[b], slot, slot_index);
    infos[count] = {range.buffer, range.offset, range.range};
    writes[count] = write_of(slot.sets[kernel_index], b, &infos[count]);
    ++count;
  }
  if (count != 0) context_.vk.UpdateDescriptorSets(context_.device, count, writes.data(), 0, nullptr);
}

void VulkanPlan::update_descriptors(Slot& slot) const {
  uint32_t count = 0;
  for (size_t k = 0; k < kernels_.size(); ++k) {
    const CompiledKernel& kernel = kernels_[k];
    for (uint32_t b = 0; kernel.has_host && b < kernel.binding_count; ++b) {
      if (kernel.bindings[b].source != Binding::Source::Host) continue;
      const BoundRange& range = slot.bound[kernel.bindings[b].index];
      slot.infos[count] = {range.buffer, range.offset, range.range};
      slot.writes[count] = write_of(slot.sets[k], b, &slot.infos[count]);
      ++count;
    }
  }
  if (count != 0) context_.vk.UpdateDescriptorSets(context_.device, count, slot.writes.data(), 0, nullptr);
}

}  // namespace heed::vulkan

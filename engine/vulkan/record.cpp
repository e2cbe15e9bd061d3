#include "base/logging.hpp"
#include "vulkan/plan.hpp"
#include "vulkan/split.hpp"

namespace heed::vulkan {
namespace {

void memory_barrier(const Functions& vk, VkCommandBuffer commands, VkPipelineStageFlags from,
                    VkAccessFlags written, VkPipelineStageFlags to, VkAccessFlags used) {
  auto barrier = structure<VkMemoryBarrier>(VK_STRUCTURE_TYPE_MEMORY_BARRIER);
  barrier.srcAccessMask = written;
  barrier.dstAccessMask = used;
  vk.CmdPipelineBarrier(commands, from, to, 0, 1, &barrier, 0, nullptr, 0, nullptr);
}

constexpr VkAccessFlags kShaderAccess = VK_ACCESS_SHADER_READ_BIT | VK_ACCESS_SHADER_WRITE_BIT;

}  // namespace

Status record(const Plan& plan, VkCommandBuffer commands, const RecordInfo& info) {
  detail::PlanImpl* impl = plan.impl().get();
  if (impl == nullptr || impl->backend() != detail::Backend::Vulkan) return Status::InvalidArgument;
  return static_cast<VulkanPlan*>(impl)->record(commands, info);
}

Status VulkanPlan::record(VkCommandBuffer commands, const RecordInfo& info) {
  Status status = context_.alive("record");
  if (status != Status::Ok) return status;
  if (commands == VK_NULL_HANDLE)
    return fail(context_.log, Status::InvalidArgument, "record: the command buffer is null");
  if (info.slot >= slots_.size())
    return fail(
        context_.log, Status::InvalidArgument,
        format("record: slot %u was asked for; the plan was compiled for %zu", info.slot, slots_.size()));
  Slot& slot = slots_[info.slot];
  status = resolve_extents(schedule_, info.extents, context_.log, slot.extents, slot.sizes);
  if (status == Status::Ok) status = bind_host_buffers(info.buffers, slot);
  if (status != Status::Ok) return status;

  // Nothing fails from here on.
  update_descriptors(slot);
  RunValues values;
  values.sizes = slot.sizes;
  values.seed = info.seed;
  values.storage_offsets = slot.storage_offsets;
  record_start(commands, info.slot);
  slot.hazards.reset();
  for (size_t step = 0; step < steps_.size(); ++step) record_step(commands, step, slot, info.slot, values);
  record_end(commands);
  slot.recorded = true;
  return Status::Ok;
}

BoundRange VulkanPlan::range_of(const Binding& binding, const Slot& slot, uint32_t slot_index) const {
  switch (binding.source) {
    case Binding::Source::Host:
      return slot.bound[binding.index];
    case Binding::Source::Faults:
      return {faults_.handle(), slot_index * fault_slot_bytes() + binding.index * fault_word_bytes(),
              sizeof(uint32_t)};
    case Binding::Source::Constant:
    case Binding::Source::Scratch:
      break;
  }
  return binding.range;
}

// Orders the plan after whatever used its scratch before, and clears the slot's fault words.
void VulkanPlan::record_start(VkCommandBuffer commands, uint32_t slot_index) const {
  const Functions& vk = context_.vk;
  VkPipelineStageFlags stages = VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT;
  VkAccessFlags accesses = kShaderAccess;
  if (!faulting_steps_.empty()) {
    stages |= VK_PIPELINE_STAGE_TRANSFER_BIT;
    accesses |= VK_ACCESS_TRANSFER_WRITE_BIT;
  }
  memory_barrier(vk, commands, VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT, VK_ACCESS_SHADER_WRITE_BIT, stages,
                 accesses);
  if (!faulting_steps_.empty()) {
    vk.CmdFillBuffer(commands, faults_.handle(), slot_index * fault_slot_bytes(), fault_slot_bytes(), 0);
    memory_barrier(vk, commands, VK_PIPELINE_STAGE_TRANSFER_BIT, VK_ACCESS_TRANSFER_WRITE_BIT,
                   VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT, kShaderAccess);
  }
  if (queries_ == VK_NULL_HANDLE) return;
  const uint32_t per_slot = static_cast<uint32_t>(steps_.size() + 1);
  vk.CmdResetQueryPool(commands, queries_, slot_index * per_slot, per_slot);
  record_timestamp(commands, slot_index, 0);
}

void VulkanPlan::record_timestamp(VkCommandBuffer commands, uint32_t slot_index, size_t index) const {
  if (queries_ == VK_NULL_HANDLE) return;
  context_.vk.CmdWriteTimestamp(
      commands, VK_PIPELINE_STAGE_BOTTOM_OF_PIPE_BIT, queries_,
      slot_index * static_cast<uint32_t>(steps_.size() + 1) + static_cast<uint32_t>(index));
}

void VulkanPlan::record_step(VkCommandBuffer commands, size_t index, Slot& slot, uint32_t slot_index,
                             const RunValues& values) const {
  const Functions& vk = context_.vk;
  const Node& node = schedule_.steps[index];
  const CompiledStep& step = steps_[index];
  if (context_.labels) {
    auto label = structure<VkDebugUtilsLabelEXT>(VK_STRUCTURE_TYPE_DEBUG_UTILS_LABEL_EXT);
    label.pLabelName = node.label.c_str();
    vk.CmdBeginDebugUtilsLabelEXT(commands, &label);
  }
  slot.dispatches.count = 0;
  emit_dispatches(schedule_, node, context_.capabilities, step.kernels, values, &slot.dispatches);
  for (uint32_t d = 0; d < slot.dispatches.count; ++d) {
    const Dispatch& dispatch = slot.dispatches.dispatches[d];
    const uint32_t use_index = step.first_use + dispatch.kernel;
    const CompiledUse& use = uses_[use_index];
    std::array<Access, kMaxBindings> accesses;
    size_t count = 0;
    for (uint32_t b = 0; b < use.binding_count; ++b) {
      if (use.bindings[b].source == Binding::Source::Constant) continue;
      const BoundRange range = range_of(use.bindings[b], slot, slot_index);
      accesses[count++] = {(uint64_t)range.buffer, range.offset, range.offset + range.range,
                           use.bindings[b].write};
    }
    if (slot.hazards.enter({accesses.data(), count}))
      memory_barrier(vk, commands, VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT, VK_ACCESS_SHADER_WRITE_BIT,
                     VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT, kShaderAccess);
    record_dispatch(commands, dispatch, use, slot.sets[use_index]);
  }
  if (context_.labels) vk.CmdEndDebugUtilsLabelEXT(commands);
  record_timestamp(commands, slot_index, index + 1);
}

void VulkanPlan::record_dispatch(VkCommandBuffer commands, const Dispatch& dispatch, const CompiledUse& use,
                                 VkDescriptorSet set) const {
  const Functions& vk = context_.vk;
  vk.CmdBindPipeline(commands, VK_PIPELINE_BIND_POINT_COMPUTE, use.pipeline);
  vk.CmdBindDescriptorSets(commands, VK_PIPELINE_BIND_POINT_COMPUTE, use.layout, 0, 1, &set, 0, nullptr);
  if (dispatch.push_bytes != 0)
    vk.CmdPushConstants(commands, use.layout, VK_SHADER_STAGE_COMPUTE_BIT, 0, dispatch.push_bytes,
                        dispatch.push.data());
  const std::array<uint32_t, 3>& groups = dispatch.groups;
  const Split split = split_dispatch(groups, dispatch.work, dispatch_work_limit(context_.info.kind));
  if (split.count() == 1) {
    vk.CmdDispatch(commands, groups[0], groups[1], groups[2]);
    return;
  }
  for (uint32_t i = 0; i < split.count(); ++i) {
    const GroupRange x = piece_of(groups[0], split.pieces[0], i % split.pieces[0]);
    const GroupRange y = piece_of(groups[1], split.pieces[1], i / split.pieces[0] % split.pieces[1]);
    const GroupRange z = piece_of(groups[2], split.pieces[2], i / split.pieces[0] / split.pieces[1]);
    vk.CmdDispatchBase(commands, x.begin, y.begin, z.begin, x.end - x.begin, y.end - y.begin,
                       z.end - z.begin);
  }
}

void VulkanPlan::record_end(VkCommandBuffer commands) const {
  if (faulting_steps_.empty()) return;
  memory_barrier(context_.vk, commands, VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT, VK_ACCESS_SHADER_WRITE_BIT,
                 VK_PIPELINE_STAGE_HOST_BIT, VK_ACCESS_HOST_READ_BIT);
}

}  // namespace heed::vulkan

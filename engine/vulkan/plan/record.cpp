// Recording into the host's command buffer. All checks come first: nothing fails after the first command.
#include <cmath>
#include <limits>

#include "base/fingerprint.hpp"
#include "base/logging.hpp"
#include "vulkan/calls/barrier.hpp"
#include "vulkan/memory/state.hpp"
#include "vulkan/plan/plan.hpp"
#include "vulkan/plan/recorder.hpp"

namespace heed::vulkan {
namespace {

// Numbers runs uniquely within the process, for cursors.
constinit std::atomic<uint64_t> last_run{0};

// Valid after bind_states has accepted the State.
VulkanState& vulkan_state(const State& state) { return static_cast<VulkanState&>(*state.impl()); }

uint64_t extents_of(const Slot& slot) {
  Fingerprint print;
  for (int64_t extent : slot.extents) print.add(static_cast<uint64_t>(extent));
  return print.value();
}

}  // namespace

uint64_t VulkanPlan::buffers_of(const Slot& slot) const {
  Fingerprint print;
  for (size_t i = 0; i < slot.bound.size(); ++i) {
    print.add((uint64_t)slot.bound[i].buffer);
    print.add(i < host_count() ? host_begin(i, slot) : slot.bound[i].offset);
  }
  return print.value();
}

Status record(const Plan& plan, VkCommandBuffer commands, const RecordInfo& info) {
  VulkanPlan* impl = plan_of(plan, "record");
  if (impl == nullptr) return Status::InvalidArgument;  // plan_of has logged it
  const Status status = check_slot_free(*impl, info.slot, "record");
  impl->unused.tell("record", impl->host_log());
  return status == Status::Ok ? impl->record(commands, info) : status;
}

Status record_some(const Plan& plan, VkCommandBuffer commands, const RecordInfo& info, double budget_ms,
                   Cursor* cursor) {
  VulkanPlan* impl = plan_of(plan, "record_some");
  if (impl == nullptr) return Status::InvalidArgument;  // plan_of has logged it
  if (cursor == nullptr) return refuse("record_some: cursor is null");
  const Status status = check_slot_free(*impl, info.slot, "record_some");
  impl->unused.tell("record_some", impl->host_log());
  return status == Status::Ok ? impl->record_some(commands, info, budget_ms, cursor) : status;
}

SyncNeeds sync_needs(const Plan& plan) {
  const VulkanPlan* impl = plan_of(plan, nullptr);
  return impl == nullptr ? SyncNeeds() : impl->sync_needs();
}

Status VulkanPlan::record(VkCommandBuffer commands, const RecordInfo& info) {
  Cursor cursor;
  return record_part(commands, info, std::numeric_limits<double>::infinity(), &cursor);
}

Status VulkanPlan::record_some(VkCommandBuffer commands, const RecordInfo& info, double budget_ms, Cursor* cursor) {
  if (std::isnan(budget_ms))
    return fail(context_.log, Status::InvalidArgument, "record_some: the budget is not a number");
  return record_part(commands, info, budget_ms, cursor);
}

Status VulkanPlan::record_part(VkCommandBuffer commands, const RecordInfo& info, double budget_ms, Cursor* cursor) {
  Status status = check_recording(commands, info);
  if (status != Status::Ok) return status;
  Slot& slot = slots_[info.slot];
  status = resolve_extents(schedule_, info.extents, context_.log, slot.extents, slot.sizes);
  if (status == Status::Ok) status = bind_host_buffers(info.buffers, slot);
  if (status == Status::Ok) status = bind_states(info.state, slot);
  const bool fresh = !cursor->begun();
  if (status == Status::Ok && !fresh) status = check_cursor(*cursor, info, slot);
  if (status == Status::Ok) status = clock_.read(info.slot, &times_);
  if (status != Status::Ok) return status;

  // Nothing fails from here on.
  if (fresh) begin_run(info, slot, cursor);
  RunValues values;
  values.sizes = slot.sizes;
  values.seed = info.seed;
  values.storage_offsets = slot.storage_offsets;
  record_start(commands, info.slot, fresh);
  if (fresh) progress_.begin_run(commands, info.slot);
  clock_.begin_part(commands, info.slot, cursor->pass, fresh);
  Recorder(*this, commands, info.slot, slot, values, budget_ms).run(cursor);
  if (fresh && !cursor->at_end) {  // check_cursor compares these for later parts
    cursor->extents = extents_of(slot);
    cursor->buffers = buffers_of(slot);
  }
  clock_.end_part(commands, info.slot);
  progress_.end_part(commands);
  if (cursor->at_end) record_end(commands);
  slot.recorded = cursor->at_end;
  return Status::Ok;
}

Status VulkanPlan::check_recording(VkCommandBuffer commands, const RecordInfo& info) const {
  const Status status = context_.alive("record");
  if (status != Status::Ok) return status;
  if (!ready())
    return fail(context_.log, Status::NotReady,
                "record: some pipelines were not made yet; call prepare for each, or wait for ready()");
  if (commands == VK_NULL_HANDLE)
    return fail(context_.log, Status::InvalidArgument, "record: the command buffer is null");
  if (info.slot >= slots_.size())
    return fail(context_.log, Status::InvalidArgument,
                format("record: slot %u was asked for; the plan has %zu slots (CompileOptions::record_slots)",
                       info.slot, slots_.size()));
  return check_scratch("record");
}

Status VulkanPlan::check_scratch(const char* call) const {
  if (schedule_.scratch_bytes == 0 || scratch_at_.buffer != VK_NULL_HANDLE) return Status::Ok;
  return fail(context_.log, Status::MissingBuffer,
              format("%s: the plan was compiled with host_scratch and has none yet; bind_scratch gives it %llu "
                     "bytes",
                     call, static_cast<unsigned long long>(schedule_.scratch_bytes)));
}

Status VulkanPlan::check_cursor(const Cursor& cursor, const RecordInfo& info, const Slot& slot) const {
  const char* wrong = nullptr;
  if (cursor.at_end)
    wrong = "the run is done; a new one begins with a new cursor";
  else if (cursor.run != run_.load(std::memory_order_relaxed))
    wrong = "the plan was recorded, run or given scratch since, so that its scratch no longer holds this run";
  else if (!schedule_.states.empty() && cursor.run != vulkan_state(info.state).run.load(std::memory_order_relaxed))
    wrong = "the State was used by another run or written since";
  else if (cursor.slot != info.slot)
    wrong = "the slot is not the one that the run began with";
  else if (cursor.seed != info.seed)
    wrong = "the seed is not the one that the run began with";
  else if (cursor.extents != extents_of(slot))
    wrong = "the extents are not those that the run began with";
  else if (cursor.buffers != buffers_of(slot))
    wrong = "the buffers are not those that the run began with";
  if (wrong == nullptr) return Status::Ok;
  return fail(context_.log, Status::InvalidArgument, format("record_some: %s", wrong));
}

// Only the first part writes descriptors: during later parts the GPU may be reading them.
void VulkanPlan::begin_run(const RecordInfo& info, Slot& slot, Cursor* cursor) {
  update_descriptors(slot);
  *cursor = {};
  cursor->run = forget_run();
  if (!schedule_.states.empty()) vulkan_state(info.state).run.store(cursor->run, std::memory_order_relaxed);
  cursor->slot = info.slot;
  cursor->seed = info.seed;
}

uint64_t VulkanPlan::forget_run() {
  const uint64_t fresh = last_run.fetch_add(1, std::memory_order_relaxed) + 1;
  run_.store(fresh, std::memory_order_relaxed);
  return fresh;
}

// Orders this part after all earlier users of the plan's scratch, including the part before it. The first part of a run clears the slot's
// fault words.
void VulkanPlan::record_start(VkCommandBuffer commands, uint32_t slot_index, bool fresh) const {
  const Functions& vk = context_.vk;
  const bool clears = fresh && !faulting_passes_.empty();
  SyncSide next = {VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT, kShaderAccess};
  if (clears) {
    next.stages |= VK_PIPELINE_STAGE_TRANSFER_BIT;
    next.accesses |= VK_ACCESS_TRANSFER_WRITE_BIT;
  }
  memory_barrier(vk, commands, {VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT, VK_ACCESS_SHADER_WRITE_BIT}, next);
  if (!clears) return;
  vk.CmdFillBuffer(commands, faults_.handle(), slot_index * fault_slot_bytes(), fault_slot_bytes(), 0);
  memory_barrier(vk, commands, {VK_PIPELINE_STAGE_TRANSFER_BIT, VK_ACCESS_TRANSFER_WRITE_BIT},
                 {VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT, kShaderAccess});
}

void VulkanPlan::record_end(VkCommandBuffer commands) const {
  if (faulting_passes_.empty()) return;
  memory_barrier(context_.vk, commands, {VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT, VK_ACCESS_SHADER_WRITE_BIT},
                 {VK_PIPELINE_STAGE_HOST_BIT, VK_ACCESS_HOST_READ_BIT});
}

SyncNeeds VulkanPlan::sync_needs() const {
  bool reads = false, writes = false;
  for (const CompiledPass& pass : passes_) {
    for (uint32_t k = 0; k < pass.kernels.count; ++k) {
      const CompiledKernel& kernel = kernels_[pass.first_kernel + k];
      // Atomics write a byte within a word, which reads the other bytes.
      const bool reads_output = pass.kernels.uses[k].key.id == KernelId::CopyU8;
      for (uint32_t b = 0; b < kernel.binding_count; ++b) {
        const Binding& binding = kernel.bindings[b];
        const bool shared = binding.source == Binding::Source::Host ||
                            (binding.source == Binding::Source::Scratch && options_.host_scratch);
        reads |= shared && (!binding.write || reads_output);
        writes |= shared && binding.write;
      }
    }
  }
  SyncNeeds needs;
  needs.before.dstStageMask = needs.after.srcStageMask = VK_PIPELINE_STAGE_2_COMPUTE_SHADER_BIT;
  needs.before_dst_stages = needs.after_src_stages = VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT;
  if (reads) {
    needs.before.dstAccessMask |= VK_ACCESS_2_SHADER_STORAGE_READ_BIT;
    needs.before_dst_accesses |= VK_ACCESS_SHADER_READ_BIT;
  }
  if (writes) {
    needs.before.dstAccessMask |= VK_ACCESS_2_SHADER_STORAGE_WRITE_BIT;
    needs.before_dst_accesses |= VK_ACCESS_SHADER_WRITE_BIT;
    needs.after.srcAccessMask |= VK_ACCESS_2_SHADER_STORAGE_WRITE_BIT;
    needs.after_src_accesses |= VK_ACCESS_SHADER_WRITE_BIT;
  }
  return needs;
}

}  // namespace heed::vulkan

#include "vulkan/plan/recorder.hpp"

#include <cmath>

#include "vulkan/calls/barrier.hpp"

namespace heed::vulkan {

Recorder::Recorder(const VulkanPlan& plan, VkCommandBuffer commands, uint32_t slot_index, Slot& slot,
                   const RunValues& values, double budget_ms)
    : plan_(plan),
      vk_(plan.context_.vk),
      commands_(commands),
      slot_index_(slot_index),
      slot_(slot),
      values_(values),
      budget_ms_(budget_ms),
      work_limit_(dispatch_work_limit(plan.context_.info.kind)) {
  if (!std::isinf(budget_ms)) correction_ = plan.times_.correction();
}

void Recorder::run(Cursor* cursor) {
  slot_.hazards.reset();
  while (cursor->pass < plan_.passes_.size() && record_pass(cursor)) {
    ++cursor->pass;
    cursor->dispatch = cursor->piece = 0;
  }
  cursor->at_end = cursor->pass == plan_.passes_.size();
  cursor->milliseconds = spent_ms_;
}

bool Recorder::record_pass(Cursor* cursor) {
  entered_ = false;
  work_ = 0;
  emit_dispatches(plan_.schedule_, plan_.schedule_.passes[cursor->pass], plan_.context_.capabilities,
                  plan_.passes_[cursor->pass].kernels, values_, &slot_.dispatches);
  work_before_ = work_before(*cursor);
  bool whole = true;
  for (; cursor->dispatch < slot_.dispatches.count; ++cursor->dispatch, cursor->piece = 0) {
    whole = record_dispatch(cursor, slot_.dispatches.dispatches[cursor->dispatch]);
    if (!whole) break;
  }
  if (whole && !entered_) enter(cursor->pass);  // a pass without dispatches gets timestamps, too
  if (entered_) leave(cursor->pass, whole);
  return whole;
}

double Recorder::work_before(const Cursor& cursor) const {
  double work = 0;
  for (uint32_t d = 0; d < cursor.dispatch; ++d) work += slot_.dispatches.dispatches[d].work;
  if (cursor.piece == 0) return work;
  const Dispatch& current = slot_.dispatches.dispatches[cursor.dispatch];
  return work + current.work * cursor.piece / split_dispatch(current.groups, current.work, work_limit_).count();
}

bool Recorder::record_dispatch(Cursor* cursor, const Dispatch& dispatch) {
  const uint32_t kernel_index = plan_.passes_[cursor->pass].first_kernel + dispatch.kernel;
  const CompiledKernel& kernel = plan_.kernels_[kernel_index];
  const Split split = split_dispatch(dispatch.groups, dispatch.work, work_limit_);
  const double work = dispatch.work / split.count();
  bool bound = false;
  for (; cursor->piece < split.count(); ++cursor->piece) {
    if (!fits(cursor->pass, work)) return false;
    if (!entered_) enter(cursor->pass);
    // Pieces write disjoint ranges and may overlap in time. Validation layers compare whole ranges, so a barrier between pieces is recorded
    // if labels are enabled, which means that a layer may be present.
    if (!bound || plan_.context_.labels) order(kernel);
    if (!bound) bind(dispatch, kernel, slot_.sets[kernel_index]);
    bound = true;
    dispatch_piece({dispatch, split, cursor->piece});
    work_ += work;
    any_ = true;
  }
  return true;
}

bool Recorder::fits(size_t pass, double work) {
  if (std::isinf(budget_ms_)) return true;
  const double milliseconds = plan_.times_.of(pass, work, correction_);
  if (any_ && spent_ms_ + milliseconds > budget_ms_) return false;
  spent_ms_ += milliseconds;
  return true;
}

void Recorder::enter(size_t pass) {
  entered_ = true;
  if (!plan_.context_.labels) return;
  auto label = structure<VkDebugUtilsLabelEXT>(VK_STRUCTURE_TYPE_DEBUG_UTILS_LABEL_EXT);
  label.pLabelName = plan_.schedule_.passes[pass].label.c_str();
  vk_.CmdBeginDebugUtilsLabelEXT(commands_, &label);
}

void Recorder::leave(size_t pass, bool whole) {
  if (whole) plan_.progress_.end_pass(commands_, slot_index_, pass);
  if (plan_.context_.labels) vk_.CmdEndDebugUtilsLabelEXT(commands_);
  plan_.clock_.end_pass(commands_, slot_index_, pass, work_, work_before_);
}

// Records a barrier if the dispatch accesses memory that an earlier dispatch of this part wrote, or writes memory that one read.
// record_start orders whole parts.
void Recorder::order(const CompiledKernel& kernel) {
  std::array<Access, kMaxBindings> accesses;
  size_t count = 0;
  for (uint32_t b = 0; b < kernel.binding_count; ++b) {
    if (kernel.bindings[b].source == Binding::Source::Constant) continue;
    const BoundRange range = plan_.range_of(kernel.bindings[b], slot_, slot_index_);
    accesses[count++] = {(uint64_t)range.buffer, range.offset, range.offset + range.range, kernel.bindings[b].write};
  }
  if (slot_.hazards.enter({accesses.data(), count}))
    memory_barrier(vk_, commands_, {VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT, VK_ACCESS_SHADER_WRITE_BIT},
                   {VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT, kShaderAccess});
}

void Recorder::bind(const Dispatch& dispatch, const CompiledKernel& kernel, VkDescriptorSet set) {
  // Exists, since the plan is ready.
  const VkPipeline pipeline = kernel.pipeline->handle.load(std::memory_order_relaxed);
  if (pipeline_ != pipeline) vk_.CmdBindPipeline(commands_, VK_PIPELINE_BIND_POINT_COMPUTE, pipeline);
  if (set_ != set)
    vk_.CmdBindDescriptorSets(commands_, VK_PIPELINE_BIND_POINT_COMPUTE, kernel.layout, 0, 1, &set, 0, nullptr);
  pipeline_ = pipeline;
  set_ = set;
  if (dispatch.push_bytes != 0)
    vk_.CmdPushConstants(commands_, kernel.layout, VK_SHADER_STAGE_COMPUTE_BIT, 0, dispatch.push_bytes,
                         dispatch.push.data());
}

void Recorder::dispatch_piece(const Piece& piece) const {
  const std::array<uint32_t, 3>& groups = piece.dispatch.groups;
  const std::array<uint32_t, 3>& pieces = piece.split.pieces;
  if (piece.split.count() == 1) {
    vk_.CmdDispatch(commands_, groups[0], groups[1], groups[2]);
    return;
  }
  const GroupRange x = piece_of(groups[0], pieces[0], piece.index % pieces[0]);
  const GroupRange y = piece_of(groups[1], pieces[1], piece.index / pieces[0] % pieces[1]);
  const GroupRange z = piece_of(groups[2], pieces[2], piece.index / pieces[0] / pieces[1]);
  vk_.CmdDispatchBase(commands_, x.begin, y.begin, z.begin, x.end - x.begin, y.end - y.begin, z.end - z.begin);
}

}  // namespace heed::vulkan

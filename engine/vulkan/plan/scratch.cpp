// Scratch memory given by the host.
#include "base/logging.hpp"
#include "vulkan/memory/host_range.hpp"
#include "vulkan/plan/plan.hpp"

namespace heed::vulkan {

Status scratch_needs(const Plan& plan, BufferNeeds* needs) {
  VulkanPlan* impl = plan_of(plan, "scratch_needs");
  if (impl == nullptr) return Status::InvalidArgument;  // plan_of has logged it
  return needs == nullptr ? refuse("scratch_needs: needs is null") : impl->scratch_needs(needs);
}

Status bind_scratch(const Plan& plan, const BufferRange& range) {
  VulkanPlan* impl = plan_of(plan, "bind_scratch");
  if (impl == nullptr) return Status::InvalidArgument;  // plan_of has logged it
  const Status status = check_slot_free(*impl, 0, "bind_scratch");
  return status == Status::Ok ? impl->bind_scratch(range) : status;
}

Status VulkanPlan::scratch_needs(BufferNeeds* needs) {
  return needs_of(context_, schedule_.scratch_bytes, kScratchUsage, context_.buffer_alignment(), needs);
}

Status VulkanPlan::bind_scratch(const BufferRange& range) {
  Status status = context_.alive("bind_scratch");
  if (status != Status::Ok) return status;
  if (!options_.host_scratch)
    return fail(context_.log, Status::InvalidArgument,
                "bind_scratch: the plan has its own scratch; compile it with host_scratch");
  if (schedule_.scratch_bytes == 0) return Status::Ok;
  status = check_range(context_, "bind_scratch", range, schedule_.scratch_bytes, context_.buffer_alignment());
  if (status != Status::Ok) return status;
  scratch_at_ = range;
  forget_run();
  for (uint32_t kernel = 0; kernel < kernels_.size(); ++kernel)
    for (uint32_t slot = 0; slot < (kernels_[kernel].per_slot() ? slots_.size() : 1); ++slot)
      write_fixed_descriptors(kernel, slot, true);
  return Status::Ok;
}

}  // namespace heed::vulkan

// Records and submits plans for hosts without access to command buffers.
#include <heed/vulkan_submitter.hpp>
#include <vector>

#include "base/logging.hpp"
#include "vulkan/context/submission.hpp"
#include "vulkan/device/device.hpp"
#include "vulkan/plan/plan.hpp"

namespace heed::vulkan {

struct Submitter::Impl {
  struct Slot {
    Submission submission;
    Plan plan;  // plan of the work in flight; empty if there is none
    State state;
  };

  explicit Impl(std::shared_ptr<VulkanDevice> of) : device(std::move(of)) {}
  ~Impl() {
    for (uint32_t i = 0; i < slots.size(); ++i) (void)finish(i);
  }

  Context& context() { return device->context(); }
  bool in_flight(uint32_t slot) const { return slots[slot].plan.valid(); }

  // Waits for the slot, and returns its fault.
  Status finish(uint32_t slot) {
    if (!in_flight(slot)) return Status::Ok;
    Status status = slots[slot].submission.wait();
    if (status == Status::Ok) status = take_faults(slots[slot].plan, slot);
    slots[slot].plan = {};
    slots[slot].state = {};
    return status;
  }

  // A free slot; the number of slots if all are in flight.
  uint32_t find_free() {
    for (uint32_t i = 0; i < slots.size(); ++i)
      if (!in_flight(i)) return i;
    for (uint32_t i = 0; i < slots.size(); ++i)
      if (slots[i].submission.ended()) {
        (void)finish(i);
        return i;
      }
    return static_cast<uint32_t>(slots.size());
  }

  Status record_into(VkCommandBuffer commands, const Plan& plan, const RecordInfo& info) {
    const SyncNeeds needs = sync_needs(plan);
    const auto barrier = [&](VkPipelineStageFlags from, VkAccessFlags written, VkPipelineStageFlags to,
                             VkAccessFlags read) {
      auto memory = structure<VkMemoryBarrier>(VK_STRUCTURE_TYPE_MEMORY_BARRIER);
      memory.srcAccessMask = written;
      memory.dstAccessMask = read;
      context().vk.CmdPipelineBarrier(commands, from, to, 0, 1, &memory, 0, nullptr, 0, nullptr);
    };
    barrier(options.stages_before, options.accesses_before, needs.before_dst_stages, needs.before_dst_accesses);
    const Status status = record(plan, commands, info);
    if (status == Status::Ok)
      barrier(needs.after_src_stages, needs.after_src_accesses, options.stages_after, options.accesses_after);
    return status;
  }

  std::shared_ptr<VulkanDevice> device;
  SubmitterOptions options;
  std::vector<Slot> slots;
};

Submitter::Submitter() = default;
Submitter::~Submitter() = default;
Submitter::Submitter(Submitter&&) noexcept = default;
Submitter& Submitter::operator=(Submitter&&) noexcept = default;

Status Submitter::create(const Device& device, const SubmitterOptions& options, Submitter* submitter) {
  if (device.impl() == nullptr || submitter == nullptr)
    return refuse("Submitter::create: device is empty, or submitter is null");
  const Log& log = device.impl()->log();
  if (device.impl()->backend() != detail::Backend::Vulkan)
    return fail(log, Status::InvalidArgument, "Submitter: the device is the CPU's, which only Plan::run and start use");
  if (options.slots == 0) return fail(log, Status::InvalidArgument, "Submitter: no slots were asked for");
  if (Impl* old = submitter->impl_.get(); old != nullptr)
    for (uint32_t i = 0; i < old->slots.size(); ++i)
      if (old->in_flight(i))
        return fail(log, Status::InvalidArgument, "Submitter: *submitter has work in flight; wait for it first");
  auto fresh = std::make_unique<Impl>(std::static_pointer_cast<VulkanDevice>(device.impl()));
  fresh->options = options;
  fresh->slots = std::vector<Impl::Slot>(options.slots);
  Status status = fresh->context().alive("Submitter");
  for (Impl::Slot& slot : fresh->slots)
    if (status == Status::Ok) status = slot.submission.create(fresh->context(), "Submitter");
  if (status == Status::Ok) submitter->impl_ = std::move(fresh);
  return status;
}

Status Submitter::submit(const Plan& plan, const RecordInfo& info, uint32_t* slot) {
  if (impl_ == nullptr || slot == nullptr || !plan.valid())
    return refuse("Submitter::submit: the Submitter or the plan is empty, or slot is null");
  const VulkanPlan* own_plan = plan_of(plan, "submit");
  if (own_plan == nullptr) return Status::InvalidArgument;  // plan_of has logged it
  Status status = impl_->context().alive("submit");
  if (status != Status::Ok) return status;
  if (!own_plan->is_of(impl_->context()))
    return fail(impl_->context().log, Status::InvalidArgument, "submit: the plan is another device's");
  const uint32_t free = impl_->find_free();
  if (free == impl_->slots.size()) return Status::NotReady;
  Impl::Slot& taken = impl_->slots[free];
  RecordInfo own = info;
  own.slot = free;
  VkCommandBuffer commands = VK_NULL_HANDLE;
  status = taken.submission.begin(&commands);
  if (status == Status::Ok) status = impl_->record_into(commands, plan, own);
  if (status == Status::Ok) status = taken.submission.submit(impl_->options.timeout_ms);
  if (status != Status::Ok) return status;
  taken.plan = plan;
  taken.state = info.state;
  *slot = free;
  return Status::Ok;
}

Status Submitter::poll(uint32_t slot) {
  if (impl_ == nullptr || slot >= impl_->slots.size()) return refuse("Submitter::poll: there is no such slot");
  if (impl_->in_flight(slot) && !impl_->slots[slot].submission.ended()) return Status::NotReady;
  return impl_->finish(slot);
}

Status Submitter::wait(uint32_t slot) {
  if (impl_ == nullptr || slot >= impl_->slots.size()) return refuse("Submitter::wait: there is no such slot");
  return impl_->finish(slot);
}

}  // namespace heed::vulkan

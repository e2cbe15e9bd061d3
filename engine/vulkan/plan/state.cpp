// A plan's States: creation, and binding for a recording.
#include "vulkan/memory/state.hpp"

#include "base/arith.hpp"
#include "base/logging.hpp"
#include "vulkan/memory/host_range.hpp"
#include "vulkan/plan/plan.hpp"

namespace heed::vulkan {

Status state_needs(const Plan& plan, BufferNeeds* needs) {
  VulkanPlan* impl = plan_of(plan, "state_needs");
  if (impl == nullptr) return Status::InvalidArgument;  // plan_of has logged it
  return needs == nullptr ? refuse("state_needs: needs is null") : impl->state_needs(needs);
}

Status make_state(const Plan& plan, const BufferRange& range, State* state) {
  VulkanPlan* impl = plan_of(plan, "make_state");
  if (impl == nullptr) return Status::InvalidArgument;  // plan_of has logged it
  if (state == nullptr) return refuse("make_state: state is null");
  std::shared_ptr<detail::StateImpl> made;
  const Status status = impl->make_state_in(&range, &made);
  if (status == Status::Ok) *state = State(std::move(made));
  return status;
}

Status VulkanPlan::state_needs(BufferNeeds* needs) {
  return needs_of(context_, state_layout_->bytes, kStateUsage, context_.buffer_alignment(), needs);
}

Status VulkanPlan::make_state(const std::span<std::byte>* memory, std::shared_ptr<detail::StateImpl>* state) {
  if (memory != nullptr)
    return fail(context_.log, Status::Unsupported,
                "make_state: host memory is for the CPU device; vulkan::make_state takes a range of a buffer");
  return make_state_in(nullptr, state);
}

Status VulkanPlan::make_state_in(const BufferRange* range, std::shared_ptr<detail::StateImpl>* state) {
  auto fresh = std::make_shared<VulkanState>(state_layout_, owner_, context_);
  Status status = context_.alive("make_state");
  if (status == Status::Ok) status = range == nullptr ? fresh->allocate() : fresh->use(*range);
  if (status == Status::Ok) *state = std::move(fresh);
  return status;
}

// The host's buffers must be bound before.
Status VulkanPlan::bind_states(const State& given, Slot& slot) const {
  const detail::StateImpl* impl = given.impl().get();
  const Status status = detail::match_states(*state_layout_, impl, &context_, "record", context_.log, &slot.states);
  if (status != Status::Ok || schedule_.states.empty()) return status;
  // States with this home are VulkanStates.
  const BufferRange& range = static_cast<const VulkanState*>(impl)->range();
  for (size_t i = 0; i < slot.states.tensors.size(); ++i) {
    const detail::StateTensor& tensor = *slot.states.tensors[i];
    slot.bound[host_count() + i] = {range.buffer, range.offset + tensor.offset, align_up<uint64_t>(tensor.bytes, 4)};
  }
  for (size_t i = 0; i < host_count(); ++i) {
    const uint64_t begin = host_begin(i, slot), end = begin + schedule_.buffer_bytes(i, slot.sizes);
    if (slot.bound[i].buffer == range.buffer && begin < range.offset + impl->layout->bytes && range.offset < end)
      return fail(context_.log, Status::InvalidArgument,
                  format("record: '%s' lies in the memory of the State", schedule_.buffer(i).name.c_str()));
  }
  return Status::Ok;
}

}  // namespace heed::vulkan

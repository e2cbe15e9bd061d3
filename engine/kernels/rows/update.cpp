// A step of an optimizer, which updates states in place.
#include "base/update.hpp"

#include <cstddef>

#include "kernels/operations.hpp"

namespace heed::kernels {
namespace {

static_assert(offsetof(UpdateSettings, rate) == HEED_UPDATE_RATE * 4 &&
              offsetof(UpdateSettings, decay) == HEED_UPDATE_DECAY * 4 &&
              offsetof(UpdateSettings, first) == HEED_UPDATE_FIRST * 4 &&
              offsetof(UpdateSettings, first_rest) == HEED_UPDATE_FIRST_REST * 4 &&
              offsetof(UpdateSettings, second) == HEED_UPDATE_SECOND * 4 &&
              offsetof(UpdateSettings, second_rest) == HEED_UPDATE_SECOND_REST * 4 &&
              offsetof(UpdateSettings, eps) == HEED_UPDATE_EPS * 4 &&
              offsetof(UpdateSettings, log_first) == HEED_UPDATE_LOG_FIRST * 4 &&
              offsetof(UpdateSettings, log_second) == HEED_UPDATE_LOG_SECOND * 4);

uint32_t update_flags(const Node& node) {
  const auto& attrs = node.as<UpdateAttrs>();
  uint32_t flags = attrs.rule == UpdateAttrs::Rule::AdamW ? HEED_UPDATE_ADAMW : 0;
  if (node.inputs[in::kFirstMoment].valid()) flags |= HEED_UPDATE_MOMENT;
  if (attrs.nesterov) flags |= HEED_UPDATE_NESTEROV;
  if (attrs.clears) flags |= HEED_UPDATE_CLEARS;
  return flags;
}

}  // namespace

// A state is bound once, as an output; the pass also reads it there.
Status select_update(const Select& select) {
  const Node& node = select.node;
  const bool clears = node.as<UpdateAttrs>().clears;
  KernelUse& use =
      add_kernel(select, KernelId::UpdateF32, {kInvocations, 1, 1}, "four elements per invocation, in place");
  use.key.set(UpdateConstants::FLAGS, update_flags(node));
  const auto state = [&](size_t input) {
    // Drivers assume that every binding may be written, so absent moments are bound to the weights.
    use.buffers[use.buffer_count++] = {BufferUse::Kind::Tensor, true,
                                       node.inputs[select.has(input) ? input : in::kUpdated]};
  };
  use.buffers[use.buffer_count++] = {BufferUse::Kind::Tensor, clears, node.inputs[in::kGradient]};
  use.buffers[use.buffer_count++] = {BufferUse::Kind::Tensor, false, node.inputs[in::kFactors]};
  use.buffers[use.buffer_count++] = {BufferUse::Kind::Tensor, false, node.inputs[in::kUpdateSettings]};
  for (const size_t input : {in::kUpdated, in::kFirstMoment, in::kSecondMoment}) state(input);
  return Status::Ok;
}

void emit_update(const Emit& emit) {
  UpdateParams p{};
  for (size_t i = 0; i <= in::kSecondMoment; ++i)
    if (emit.has(i)) p.offset[i] = u32(emit.in(i).offset);
  const int64_t n = emit.in(in::kUpdated).dim[0];
  p.n = u32(n);
  Dispatch& dispatch = emit.dispatches->add();
  dispatch.groups = fold_groups(ceil_div<int64_t>(n, kInvocations * HEED_UPDATE_EACH));
  dispatch.work = 28.0 * static_cast<double>(n);
  dispatch.set_push(p);
}

}  // namespace heed::kernels

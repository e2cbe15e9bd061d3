// Recording plans into a host's command buffers.
#include <heed/vulkan_frames.hpp>

#include "c/vulkan/convert.hpp"

namespace heed::c {
namespace {

template <class T>
size_t count_of(Call& call, const T* array, size_t count, const char* what) {
  return call.has_array(array, count, what) ? count : 0;
}

vulkan::Cursor cursor_of(const heed_cursor& from) {
  vulkan::Cursor to;
  to.milliseconds = from.milliseconds;
  to.run = from.run;
  to.pass = from.pass;
  to.dispatch = from.dispatch;
  to.piece = from.piece;
  to.slot = from.slot;
  to.seed = from.seed;
  to.extents = from.extents;
  to.buffers = from.buffers;
  to.at_end = from.done != 0;
  return to;
}

heed_cursor read(const vulkan::Cursor& from) {
  heed_cursor to = {};
  to.milliseconds = from.milliseconds;
  to.done = from.done();
  to.pass = from.pass;
  to.dispatch = from.dispatch;
  to.piece = from.piece;
  to.slot = from.slot;
  to.seed = from.seed;
  to.run = from.run;
  to.extents = from.extents;
  to.buffers = from.buffers;
  return to;
}

VkCommandBuffer commands_of(Call& call, void* command_buffer) {
  call.has(command_buffer, "command_buffer");
  return static_cast<VkCommandBuffer>(command_buffer);
}

}  // namespace

Extents::Extents(Call& call, const heed_extent_value* extents, size_t count)
    : values_(count_of(call, extents, count, "extents")) {
  for (size_t i = 0; i < values_.all().size() && !call.failed(); ++i)
    values_[i] = {call.text(extents[i].name, "an extent's name"), extents[i].value};
}

Recording::Recording(Call& call, const heed_record_info* info)
    : given_(call, info, "the record info"),
      buffers_(count_of(call, given_->buffers, given_->buffer_count, "buffers")),
      extents_(call, given_->extents, given_->extent_count) {
  call.has(info, "info");
  for (size_t i = 0; i < buffers_.all().size() && !call.failed(); ++i) {
    const heed_buffer& from = given_->buffers[i];
    buffers_[i] = {call.text(from.name, "a buffer's name"), handle_of<VkBuffer>(from.buffer), from.offset, from.bytes};
  }
  if (given_->state != nullptr) state_.emplace(call, given_->state);
}

vulkan::RecordInfo Recording::info() const {
  return {buffers_.all(), extents_.all(), given_->seed, given_->slot, state_ ? (*state_)->it : heed::State()};
}

static_assert(HEED_WHOLE_SIZE == VK_WHOLE_SIZE);

}  // namespace heed::c

using namespace heed::c;

heed_status heed_plan_record(heed_plan* handle, void* command_buffer, const heed_record_info* info) {
  Call call(__func__);
  const Pin<Plan> plan(call, handle);
  const VkCommandBuffer commands = commands_of(call, command_buffer);
  const Recording recording(call, info);
  if (call.failed()) return call.status();
  return call.end(heed::vulkan::record(plan->it, commands, recording.info()), plan->host.get());
}

heed_status heed_plan_record_some(heed_plan* handle, void* command_buffer, const heed_record_info* info,
                                  double budget_ms, heed_cursor* cursor) {
  Call call(__func__);
  const Pin<Plan> plan(call, handle);
  const VkCommandBuffer commands = commands_of(call, command_buffer);
  const Recording recording(call, info);
  if (!call.has(cursor, "cursor") || call.failed()) return call.status();
  heed::vulkan::Cursor at = cursor_of(*cursor);
  call.end(heed::vulkan::record_some(plan->it, commands, recording.info(), budget_ms, &at), plan->host.get());
  if (!call.failed()) *cursor = read(at);
  return call.status();
}

heed_status heed_plan_estimate(heed_plan* handle, const heed_extent_value* extents, size_t extent_count,
                               const heed_cursor* cursor, heed_estimate* estimate) {
  Call call(__func__);
  const Pin<Plan> plan(call, handle);
  const Extents given(call, extents, extent_count);
  Wanted<heed_estimate> wanted(call, estimate, "estimate");
  if (call.failed()) return call.status();
  heed::vulkan::Estimate made;
  const heed::vulkan::Cursor at = cursor == nullptr ? heed::vulkan::Cursor() : cursor_of(*cursor);
  if (call.end(heed::vulkan::estimate(plan->it, given.all(), at, &made), plan->host.get()) != HEED_OK)
    return call.status();
  heed_estimate to = {};
  to.milliseconds = made.milliseconds;
  to.measured = made.measured;
  to.longest = made.longest;
  to.dispatches = made.dispatches;
  wanted.set(to);
  return call.status();
}

heed_status heed_plan_sync_needs(heed_plan* handle, heed_sync_needs* needs) {
  Call call(__func__);
  const Pin<Plan> plan(call, handle);
  Wanted<heed_sync_needs> wanted(call, needs, "needs");
  if (call.failed()) return call.status();
  const heed::vulkan::SyncNeeds from = heed::vulkan::sync_needs(plan->it);
  heed_sync_needs to = {};
  to.before_dst_stages2 = from.before.dstStageMask;
  to.before_dst_accesses2 = from.before.dstAccessMask;
  to.after_src_stages2 = from.after.srcStageMask;
  to.after_src_accesses2 = from.after.srcAccessMask;
  to.before_dst_stages = from.before_dst_stages;
  to.before_dst_accesses = from.before_dst_accesses;
  to.after_src_stages = from.after_src_stages;
  to.after_src_accesses = from.after_src_accesses;
  wanted.set(to);
  return call.status();
}

heed_status heed_plan_take_faults(heed_plan* handle, uint32_t slot) {
  Call call(__func__);
  const Pin<Plan> plan(call, handle);
  return call.failed() ? call.status() : call.end(heed::vulkan::take_faults(plan->it, slot), plan->host.get());
}

heed_status heed_plan_last_completed(heed_plan* handle, uint32_t slot, int32_t* pass) {
  Call call(__func__);
  const Pin<Plan> plan(call, handle);
  if (!call.has(pass, "pass") || call.failed()) return call.status();
  return call.end(heed::vulkan::last_completed(plan->it, slot, pass), plan->host.get());
}

heed_status heed_state_record_clear(heed_state* handle, void* command_buffer) {
  Call call(__func__);
  const Pin<State> state(call, handle);
  const VkCommandBuffer commands = commands_of(call, command_buffer);
  if (call.failed()) return call.status();
  return call.end(heed::vulkan::record_reset(state->it, commands), state->host.get());
}

heed_status heed_state_record_copy(heed_state* handle, heed_state* from_handle, void* command_buffer) {
  Call call(__func__);
  const Pin<State> state(call, handle), from(call, from_handle);
  const VkCommandBuffer commands = commands_of(call, command_buffer);
  if (call.failed()) return call.status();
  return call.end(heed::vulkan::record_copy(state->it, from->it, commands), state->host.get());
}

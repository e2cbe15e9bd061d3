// States of plans.
#include <heed/state.hpp>

#include "c/objects.hpp"

namespace heed::c {
namespace {

std::unique_ptr<State> state_like(const std::shared_ptr<Host>& host) {
  auto made = std::make_unique<State>();
  made->host = host;
  return made;
}

StatePart part_of(const heed_state_part* part) {
  return part == nullptr ? StatePart() : StatePart{part->axis, part->begin, part->count};
}

}  // namespace
}  // namespace heed::c

using namespace heed::c;

heed_status heed_plan_make_state(heed_plan* handle, heed_state** state) {
  Call call(__func__);
  if (!has_place(call, state, "state")) return call.status();
  const Pin<Plan> plan(call, handle);
  if (call.failed()) return call.status();
  auto made = state_like(plan->host);
  heed::Plan it = plan->it;
  call.end(it.make_state(&made->it), plan->host.get());
  return give(call, std::move(made), state);
}

heed_status heed_plan_make_state_in(heed_plan* handle, void* memory, size_t bytes, heed_state** state) {
  Call call(__func__);
  if (!has_place(call, state, "state")) return call.status();
  const Pin<Plan> plan(call, handle);
  if (!call.has_array(memory, bytes, "memory") || call.failed()) return call.status();
  auto made = state_like(plan->host);
  heed::Plan it = plan->it;
  call.end(it.make_state(std::span(static_cast<std::byte*>(memory), bytes), &made->it), plan->host.get());
  return give(call, std::move(made), state);
}

heed_status heed_plan_fork_state(heed_plan* handle, heed_state* from_handle, heed_state** state) {
  Call call(__func__);
  if (!has_place(call, state, "state")) return call.status();
  const Pin<Plan> plan(call, handle);
  const Pin<State> from(call, from_handle);
  if (call.failed()) return call.status();
  auto made = state_like(plan->host);
  heed::Plan it = plan->it;
  if (call.end(it.make_state(&made->it), plan->host.get()) == HEED_OK)
    call.end(made->it.copy(from->it), plan->host.get());
  return give(call, std::move(made), state);
}

heed_status heed_state_destroy(heed_state* state) { return destroy<State>(__func__, state); }

heed_status heed_state_bytes(heed_state* handle, uint64_t* bytes) {
  Call call(__func__);
  const Pin<State> state(call, handle);
  if (call.has(bytes, "bytes") && !call.failed()) *bytes = state->it.bytes();
  return call.status();
}

heed_status heed_state_clear(heed_state* handle) {
  Call call(__func__);
  const Pin<State> state(call, handle);
  if (call.failed()) return call.status();
  heed::State it = state->it;
  return call.end(it.reset(), state->host.get());
}

heed_status heed_state_copy(heed_state* handle, heed_state* from_handle) {
  Call call(__func__);
  const Pin<State> state(call, handle);
  const Pin<State> from(call, from_handle);
  if (call.failed()) return call.status();
  heed::State it = state->it;
  return call.end(it.copy(from->it), state->host.get());
}

heed_status heed_state_copy_row(heed_state* handle, heed_state* from_handle, int64_t from_row, int64_t to_row) {
  Call call(__func__);
  const Pin<State> state(call, handle);
  const Pin<State> from(call, from_handle);
  if (call.failed()) return call.status();
  heed::State it = state->it;
  return call.end(it.copy_row(from->it, from_row, to_row), state->host.get());
}

heed_status heed_state_save(heed_state* handle, heed_blob** blob) {
  Call call(__func__);
  if (!has_place(call, blob, "blob")) return call.status();
  const Pin<State> state(call, handle);
  if (call.failed()) return call.status();
  std::vector<std::byte> bytes;
  call.end(state->it.save(&bytes), state->host.get());
  return give_blob(call, std::move(bytes), blob);
}

heed_status heed_state_load(heed_state* handle, const void* data, size_t bytes) {
  Call call(__func__);
  const Pin<State> state(call, handle);
  if (!call.has_array(data, bytes, "data") || call.failed()) return call.status();
  heed::State it = state->it;
  return call.end(it.load({static_cast<const std::byte*>(data), bytes}), state->host.get());
}

heed_status heed_state_read(heed_state* handle, const char* name, const heed_state_part* part, void* to, size_t bytes) {
  Call call(__func__);
  const Pin<State> state(call, handle);
  const std::string_view called = call.text(name, "name");
  if (!call.has_array(to, bytes, "to") || call.failed()) return call.status();
  return call.end(state->it.read(called, {static_cast<std::byte*>(to), bytes}, part_of(part)), state->host.get());
}

heed_status heed_state_write(heed_state* handle, const char* name, const heed_state_part* part, const void* from,
                             size_t bytes) {
  Call call(__func__);
  const Pin<State> state(call, handle);
  const std::string_view called = call.text(name, "name");
  if (!call.has_array(from, bytes, "from") || call.failed()) return call.status();
  heed::State it = state->it;
  return call.end(it.write(called, {static_cast<const std::byte*>(from), bytes}, part_of(part)), state->host.get());
}

// States.
#include <heed/state.hpp>

#include "c/objects.hpp"

namespace heed::c {
namespace {

// Makes a state of a plan by `make`; a NULL handle after a failure.
template <class Make>
heed_status make_state(Call& call, heed_plan* handle, heed_state** state, const Make& make) {
  if (!has_place(call, state, "state")) return call.status();
  const Pin<Plan> plan(call, handle);
  if (call.failed()) return call.status();
  auto made = std::make_unique<State>();
  made->host = plan->host;
  heed::Plan it = plan->it;
  call.end(make(it, &made->it), plan->host.get());
  return give(call, std::move(made), state);
}

// Calls `change` with a state.
template <class Change>
heed_status change_state(Call& call, heed_state* handle, const Change& change) {
  const Pin<State> state(call, handle);
  if (call.failed()) return call.status();
  heed::State it = state->it;
  return call.end(change(it), state->host.get());
}

StatePart part_of(const heed_state_part* part) {
  return part == nullptr ? StatePart{} : StatePart{part->axis, part->begin, part->count};
}

}  // namespace
}  // namespace heed::c

using namespace heed::c;

heed_status heed_plan_make_state(heed_plan* plan, heed_state** state) {
  Call call(__func__);
  return make_state(call, plan, state, [](heed::Plan& it, heed::State* made) { return it.make_state(made); });
}

heed_status heed_plan_make_state_in(heed_plan* plan, void* memory, size_t bytes, heed_state** state) {
  Call call(__func__);
  call.has(memory, "memory");
  return make_state(call, plan, state, [&](heed::Plan& it, heed::State* made) {
    return it.make_state({static_cast<std::byte*>(memory), bytes}, made);
  });
}

heed_status heed_plan_fork_state(heed_plan* plan, heed_state* from_handle, heed_state** state) {
  Call call(__func__);
  if (!has_place(call, state, "state")) return call.status();
  const Pin<State> from(call, from_handle);
  return make_state(call, plan, state, [&](heed::Plan& it, heed::State* made) {
    const heed::Status status = it.make_state(made);
    return status == heed::Status::Ok ? made->copy(from->it) : status;
  });
}

heed_status heed_state_destroy(heed_state* state) { return destroy<State>(__func__, state); }

heed_status heed_state_bytes(heed_state* handle, uint64_t* bytes) {
  Call call(__func__);
  const Pin<State> state(call, handle);
  if (call.has(bytes, "bytes") && !call.failed()) *bytes = state->it.bytes();
  return call.status();
}

heed_status heed_state_clear(heed_state* state) {
  Call call(__func__);
  return change_state(call, state, [](heed::State& it) { return it.reset(); });
}

heed_status heed_state_copy(heed_state* state, heed_state* from_handle) {
  Call call(__func__);
  const Pin<State> from(call, from_handle);
  return change_state(call, state, [&](heed::State& it) { return it.copy(from->it); });
}

heed_status heed_state_copy_row(heed_state* state, heed_state* from_handle, int64_t from_row, int64_t to_row) {
  Call call(__func__);
  const Pin<State> from(call, from_handle);
  return change_state(call, state, [&](heed::State& it) { return it.copy_row(from->it, from_row, to_row); });
}

heed_status heed_state_save(heed_state* state, heed_blob** blob) {
  Call call(__func__);
  if (!has_place(call, blob, "blob")) return call.status();
  std::vector<std::byte> bytes;
  change_state(call, state, [&](heed::State& it) { return it.save(&bytes); });
  return give_blob(call, std::move(bytes), blob);
}

heed_status heed_state_load(heed_state* state, const void* data, size_t bytes) {
  Call call(__func__);
  call.has_array(data, bytes, "data");
  return change_state(call, state,
                      [&](heed::State& it) { return it.load({static_cast<const std::byte*>(data), bytes}); });
}

heed_status heed_state_read(heed_state* state, const char* name, const heed_state_part* part, void* to, size_t bytes) {
  Call call(__func__);
  const std::string_view tensor = call.text(name, "name");
  call.has_array(to, bytes, "the memory");
  return change_state(call, state, [&](heed::State& it) {
    return it.read(tensor, {static_cast<std::byte*>(to), bytes}, part_of(part));
  });
}

heed_status heed_state_write(heed_state* state, const char* name, const heed_state_part* part, const void* from,
                             size_t bytes) {
  Call call(__func__);
  const std::string_view tensor = call.text(name, "name");
  call.has_array(from, bytes, "the memory");
  return change_state(call, state, [&](heed::State& it) {
    return it.write(tensor, {static_cast<const std::byte*>(from), bytes}, part_of(part));
  });
}

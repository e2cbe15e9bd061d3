// The calls of State: each checks that the handle is not empty, and that the State is not in use.
#include <heed/state.hpp>

#include "base/logging.hpp"
#include "graph/schedule/state.hpp"

namespace heed {
namespace {

// Calls body(state), or fails if the State is in use.
template <class Body>
Status use(const std::shared_ptr<detail::StateImpl>& impl, const char* call, const Body& body) {
  if (impl == nullptr) return refuse(format("%s: the State is empty", call).c_str());
  const std::shared_ptr<detail::StateImpl> state = impl;  // the host may drop the handle meanwhile
  const detail::Claim claim(&state->running);
  if (claim.is_mine()) return body(*state);
  return fail(state->log(), Status::InvalidArgument,
              format("%s: the State is in use already: on another thread, or by a started run that is not done", call));
}

// Whether one State can be copied to the other.
Status match_both(const detail::StateImpl& from, const detail::StateImpl& to, const char* call) {
  if (from.home() == to.home()) return detail::match_layouts(*to.layout, *from.layout, call, to.log());
  return fail(to.log(), Status::InvalidArgument, std::string(call) + ": the States belong to different devices");
}

}  // namespace

uint64_t State::bytes() const { return impl_ == nullptr ? 0 : impl_->layout->bytes; }

std::vector<StateInfo> State::tensors() const {
  std::vector<StateInfo> all;
  if (impl_ == nullptr) return all;
  for (const detail::StateTensor& tensor : impl_->layout->tensors)
    all.push_back({tensor.name, tensor.dtype, tensor.shape});
  return all;
}

Status State::reset() {
  return use(impl_, "reset", [](detail::StateImpl& state) { return state.clear(); });
}

Status State::copy(const State& from) {
  if (from.impl_ == nullptr) return refuse("copy: the State that is copied is empty");
  if (from.impl_ == impl_) return Status::Ok;
  return use(from.impl_, "copy", [&](detail::StateImpl& source) {
    return use(impl_, "copy", [&](detail::StateImpl& state) {
      const Status status = match_both(source, state, "copy");
      return status == Status::Ok ? state.copy(source) : status;
    });
  });
}

Status State::copy_row(const State& from, int64_t from_row, int64_t to_row) {
  if (from.impl_ == nullptr) return refuse("copy_row: the State that is copied is empty");
  const auto copy = [&](detail::StateImpl& source, detail::StateImpl& state) {
    std::vector<detail::StateRange> old_ranges, new_ranges;
    Status status = detail::ranges_of_row(*source.layout, from_row, "copy_row", state.log(), &old_ranges);
    if (status == Status::Ok)
      status = detail::ranges_of_row(*state.layout, to_row, "copy_row", state.log(), &new_ranges);
    if (status != Status::Ok || (&source == &state && from_row == to_row)) return status;
    return state.copy(source, old_ranges, new_ranges);
  };
  if (from.impl_ == impl_) return use(impl_, "copy_row", [&](detail::StateImpl& state) { return copy(state, state); });
  return use(from.impl_, "copy_row", [&](detail::StateImpl& source) {
    return use(impl_, "copy_row", [&](detail::StateImpl& state) {
      const Status status = match_both(source, state, "copy_row");
      return status == Status::Ok ? copy(source, state) : status;
    });
  });
}

Status State::save(std::vector<std::byte>* blob) const {
  if (blob == nullptr) return refuse("State::save: blob is null");
  return use(impl_, "save", [&](detail::StateImpl& state) { return detail::save_state(state, blob); });
}

Status State::load(std::span<const std::byte> blob) {
  return use(impl_, "load", [&](detail::StateImpl& state) { return detail::load_state(state, blob); });
}

Status State::read(std::string_view name, std::span<std::byte> to, const StatePart& part) const {
  return use(impl_, "read", [&](detail::StateImpl& state) {
    std::vector<detail::StateRange> ranges;
    const Status status = detail::ranges_of(*state.layout, name, part, to.size(), "read", state.log(), &ranges);
    return status == Status::Ok ? state.read(ranges, to.data()) : status;
  });
}

Status State::write(std::string_view name, std::span<const std::byte> from, const StatePart& part) {
  return use(impl_, "write", [&](detail::StateImpl& state) {
    std::vector<detail::StateRange> ranges;
    const Status status = detail::ranges_of(*state.layout, name, part, from.size(), "write", state.log(), &ranges);
    return status == Status::Ok ? state.write(ranges, from.data()) : status;
  });
}

}  // namespace heed

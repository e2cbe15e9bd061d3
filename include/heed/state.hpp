// State: tensors that stay on a device from run to run: caches of keys and values, memories, weights that learn.
//
//   heed::Tensor keys = g.state("keys", {1, 512, 8, 64});      // Graph::state, append and assign say how graphs use it
//   ...
//   heed::State conversation;
//   s = plan.make_state(&conversation);                        // zeros
//   s = plan.run({{"x", x}, {"y", y}}, {{"past", past}}, {.state = conversation});
//
// A State is independent of plans. One plan serves any number of them, such as one for each character of a game. Plans of one device share
// a State if the tensors that they name have the same shapes and types, such as a plan for prompts and one for single tokens. It may hold
// tensors that a plan does not name.
//
// If a graph's lengths are positions (Graph::position), give an earlier length at the next run to truncate a State: rows beyond it are not
// read, and are overwritten.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <heed/export.hpp>
#include <heed/status.hpp>
#include <heed/types.hpp>

namespace heed {

namespace detail {
class StateImpl;
}

// Elements begin .. begin + size of an axis; all of the axis if `size` is 0.
struct StatePart {
  int axis = 0;  // negative axes count from the end
  int64_t begin = 0, size = 0;
};

// One tensor of a State.
struct StateInfo {
  std::string name;
  DType dtype = DType::F32;
  std::vector<int64_t> shape;
};

// A cheap handle: copies share the tensors, and keep the device alive. The calls below wait until they are done. One call, or one run, may
// use a State at a time; a second one at the same time returns InvalidArgument. On Vulkan the calls below submit to the device's queue
// (Unsupported if the host gave none) and come after what was submitted to it before.
class HEED_API State {
 public:
  bool valid() const { return impl_ != nullptr; }
  uint64_t bytes() const;                  // memory of the tensors
  std::vector<StateInfo> tensors() const;  // sorted by name

  Status reset();  // sets all elements to zero
  // Copies the contents of another State of the same device with the same tensors, on the device, as when a conversation forks. If tensors
  // differ, nothing is copied: NotFound, ShapeMismatch or DTypeMismatch.
  Status copy(const State& from);
  // Copies one row (index of the first axis) of all tensors of another State, or of this one, to a row of this State, as when a
  // conversation in a batch forks. Failures are those of copy(); InvalidArgument, too, if a tensor has no such row.
  Status copy_row(const State& from, int64_t from_row, int64_t to_row);

  // Saves all tensors with their names, shapes, types and a checksum; any device can load them. On failure *blob is unchanged.
  Status save(std::vector<std::byte>* blob) const;
  // Loads what save() gave. InvalidFile: the bytes are damaged, or no saved State. NotFound, ShapeMismatch, DTypeMismatch: the saved
  // tensors do not match this State's. On failure nothing was written.
  Status load(std::span<const std::byte> blob);

  // Read or write a tensor or a part of it, contiguous and row-major in the host's memory, of exactly this many bytes (ShapeMismatch).
  // NotFound: there is no such tensor.
  Status read(std::string_view name, std::span<std::byte> to, const StatePart& part = {}) const;
  Status write(std::string_view name, std::span<const std::byte> from, const StatePart& part = {});

  const std::shared_ptr<detail::StateImpl>& impl() const { return impl_; }
  explicit State(std::shared_ptr<detail::StateImpl> impl) : impl_(std::move(impl)) {}
  State() = default;

 private:
  std::shared_ptr<detail::StateImpl> impl_;
};

}  // namespace heed

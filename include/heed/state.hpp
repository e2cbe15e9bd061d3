// State: tensors that stay on a device from run to run: caches of keys and values, memories, weights that learn.
//
//   heed::Tensor keys = g.state("keys", {1, 512, 8, 64});      // Graph::state, append and assign say how graphs use it
//   ...
//   heed::State conversation;
//   s = plan.make_state(&conversation);                        // zeros
//   s = plan.run({{"x", x}, {"y", y}}, {{"past", past}}, {.state = conversation});
//
// A State is a value of its own. One plan serves any number of them, such as one for each character of a game, and
// plans of one device share one if the tensors that they name have the same shapes and types: a plan for prompts and
// one for single tokens, say. It may hold tensors that a plan does not name.
//
// Where a graph's lengths are positions (Graph::position), a State is cut back to an earlier length by stating that
// length at the next run: rows behind it are not read, and are written again.
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

// A cheap handle: copies share the tensors, and keep the device alive. Plan::run and the calls below wait until they
// are done. Only one of them, or one run that Plan::start began and that is not over, may use a State at a time; a second
// one beside it returns InvalidArgument. On Vulkan the calls below submit to the device's queue (Unsupported if the host
// gave none) and come after what was submitted to it before.
class HEED_API State {
 public:
  bool valid() const { return impl_ != nullptr; }
  uint64_t bytes() const;                  // memory of the tensors
  std::vector<StateInfo> tensors() const;  // sorted by name

  Status reset();  // makes all zero
  // Takes the contents of another State of the same device with the same tensors, on the device: a conversation forks.
  // If tensors differ, nothing is copied: NotFound, ShapeMismatch or DTypeMismatch.
  Status copy(const State& from);
  // Takes one row of another State, or of this one, as one of its own: what its tensors hold at this index of their first axis. A
  // conversation among those of a batch forks. Failures are those of copy(); InvalidArgument, too, if a tensor has no such row.
  Status copy_row(const State& from, int64_t from_row, int64_t to_row);

  // All tensors with their names, shapes and types and a checksum, for any device. After a failure *blob is unchanged.
  Status save(std::vector<std::byte>* blob) const;
  // InvalidFile: the bytes are damaged, or no saved State. NotFound, ShapeMismatch, DTypeMismatch: their tensors are
  // not those of this State. In both cases nothing was written.
  Status load(std::span<const std::byte> blob);

  // A tensor or a part of it, contiguous and row-major in the host's memory, of exactly this many bytes
  // (ShapeMismatch). NotFound: there is no such tensor.
  Status read(std::string_view name, std::span<std::byte> to, const StatePart& part = {}) const;
  Status write(std::string_view name, std::span<const std::byte> from, const StatePart& part = {});

  const std::shared_ptr<detail::StateImpl>& impl() const { return impl_; }
  explicit State(std::shared_ptr<detail::StateImpl> impl) : impl_(std::move(impl)) {}
  State() = default;

 private:
  std::shared_ptr<detail::StateImpl> impl_;
};

}  // namespace heed

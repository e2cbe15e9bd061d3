// The layout of tensors that stay from run to run, and the interface of their memory on all devices.
#pragma once

#include <atomic>
#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <heed/state.hpp>

#include "graph/schedule/schedule.hpp"

namespace heed::detail {

enum class Backend : uint8_t { Cpu, Vulkan };

struct StateTensor {
  std::string name;
  DType dtype = DType::F32;
  std::vector<int64_t> shape;
  uint64_t offset = 0, bytes = 0;  // in the State's memory; padding up to a multiple of 4 belongs to the tensor, too

  friend bool operator==(const StateTensor&, const StateTensor&) = default;
};

struct StateLayout {
  std::vector<StateTensor> tensors;  // sorted by name, as Schedule::states are
  uint64_t bytes = 0;                // a multiple of 4

  const StateTensor* find(std::string_view name) const;  // null if there is none
};
StateLayout layout_of(const Schedule& schedule, uint64_t alignment);

// A part of a State's memory.
struct StateRange {
  uint64_t offset = 0, bytes = 0;
};
uint64_t bytes_of(std::span<const StateRange> ranges);

// Holds a flag for its lifetime if it was free. Without a flag it always succeeds.
class Claim {
 public:
  explicit Claim(std::atomic<bool>* flag)
      : flag_(flag), mine_(flag == nullptr || !flag->exchange(true, std::memory_order_acquire)) {}
  ~Claim() { release(); }
  Claim(const Claim&) = delete;
  Claim& operator=(const Claim&) = delete;
  bool is_mine() const { return mine_; }
  void release() {
    if (flag_ != nullptr && mine_) flag_->store(false, std::memory_order_release);
    flag_ = nullptr;
  }

 private:
  std::atomic<bool>* flag_;
  bool mine_;
};

class StateImpl {
 public:
  explicit StateImpl(std::shared_ptr<const StateLayout> tensors) : layout(std::move(tensors)) {}
  virtual ~StateImpl() = default;
  virtual Backend backend() const { return Backend::Cpu; }
  virtual const void* home() const = 0;  // the same for all States of one device
  virtual const Log& log() const = 0;
  // These calls return when the work is done. Ranges in the host's memory are consecutive.
  virtual Status clear() = 0;
  virtual Status copy(const StateImpl& from) = 0;  // `from` has the same home() and layout
  // Copies ranges of a State of the same home. Range i of `from` has the size of range i of the other list; ranges do not overlap.
  virtual Status copy(const StateImpl& from, std::span<const StateRange> from_ranges,
                      std::span<const StateRange> to_ranges) = 0;
  virtual Status read(std::span<const StateRange> ranges, std::byte* to) = 0;
  virtual Status write(std::span<const StateRange> ranges, const std::byte* from) = 0;

  const std::shared_ptr<const StateLayout> layout;
  std::atomic<bool> running{false};  // set during Plan::run and the calls above, and from Plan::start until the run is
                                     // done
};

// A plan's states in the State of a run. They are cached by layout, since the States of a plan usually share one, and comparing names and
// shapes takes too long in a frame.
struct FoundStates {
  std::vector<const StateTensor*> tensors;    // one for each tensor of the plan's layout, in its order
  std::shared_ptr<const StateLayout> layout;  // keeps the tensors alive; null before the first run

  explicit FoundStates(size_t count = 0) : tensors(count) {}
};
// Finds each tensor of a plan's layout; the message names what is missing or differs. Allocates only to log a failure.
Status match_states(const StateLayout& own, const StateImpl* state, const void* home, const char* call, const Log& log,
                    FoundStates* found);
// Whether both have the same tensors; otherwise the Status says how `other` differs.
Status match_layouts(const StateLayout& own, const StateLayout& other, const char* call, const Log& log);
// The ranges of a part of a tensor, in row-major order. ShapeMismatch unless they have `given` bytes in total.
Status ranges_of(const StateLayout& layout, std::string_view name, const StatePart& part, uint64_t given,
                 const char* call, const Log& log, std::vector<StateRange>* ranges);
// Adds a range for each tensor: the elements at index `row` of its first axis. InvalidArgument: one has no such row.
Status ranges_of_row(const StateLayout& layout, int64_t row, const char* call, const Log& log,
                     std::vector<StateRange>* ranges);

// Saves the tensors' descriptions and bytes with a checksum.
Status save_state(StateImpl& state, std::vector<std::byte>* blob);
// Writes nothing unless the blob is valid and has this State's layout.
Status load_state(StateImpl& state, std::span<const std::byte> blob);

}  // namespace heed::detail

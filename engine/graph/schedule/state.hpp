// The layout of tensors that stay from run to run, and their memory as all devices have it.
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
  uint64_t offset = 0, bytes = 0;  // in the State's memory; what follows up to a multiple of 4 belongs to it, too

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

// Holds a flag while it lives, if nobody else did before. Without a flag it is always its own.
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
  virtual const void* home() const = 0;  // the same for all that one device makes
  virtual const Log& log() const = 0;
  // These return when all is done. In the host's memory, ranges follow each other.
  virtual Status clear() = 0;
  virtual Status copy(const StateImpl& from) = 0;  // of the same home and layout
  // Copies parts of a State of the same home. Each range of `from` is as long as the one at the same place of the other list, and
  // no two overlap.
  virtual Status copy(const StateImpl& from, std::span<const StateRange> from_ranges,
                      std::span<const StateRange> to_ranges) = 0;
  virtual Status read(std::span<const StateRange> ranges, std::byte* to) = 0;
  virtual Status write(std::span<const StateRange> ranges, const std::byte* from) = 0;

  const std::shared_ptr<const StateLayout> layout;
  std::atomic<bool> running{false};  // set by Plan::run, by Plan::start until the run is done, and by the calls above
};

// A plan's states in the State of a run. They are remembered, since a plan mostly gets States of one layout, and a frame
// has no time to compare names and shapes again.
struct FoundStates {
  std::vector<const StateTensor*> tensors;    // as many as the plan's layout has, in its order
  std::shared_ptr<const StateLayout> layout;  // holds them; null before the first run

  explicit FoundStates(size_t count = 0) : tensors(count) {}
};
// Finds each tensor of a plan's layout; names what is missing or other than it should be. Allocates only to log a
// failure.
Status match_states(const StateLayout& own, const StateImpl* state, const void* home, const char* call, const Log& log,
                    FoundStates* found);
// Whether both have the same tensors; otherwise Status says what is wrong with `other`.
Status match_layouts(const StateLayout& own, const StateLayout& other, const char* call, const Log& log);
// The ranges of a part of a tensor, in row-major order. ShapeMismatch unless they have `given` bytes.
Status ranges_of(const StateLayout& layout, std::string_view name, const StatePart& part, uint64_t given,
                 const char* call, const Log& log, std::vector<StateRange>* ranges);
// Adds a range for each tensor: what the tensor holds at index `row` of its first axis. InvalidArgument: one has no such row.
Status ranges_of_row(const StateLayout& layout, int64_t row, const char* call, const Log& log,
                     std::vector<StateRange>* ranges);

// The tensors and their bytes, sealed with a checksum.
Status save_state(StateImpl& state, std::vector<std::byte>* blob);
// Writes nothing unless the blob is whole and has this State's layout.
Status load_state(StateImpl& state, std::span<const std::byte> blob);

}  // namespace heed::detail

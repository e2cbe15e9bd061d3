// Memory that knows who touched it: what an invocation reads must have been written, and no two invocations may touch
// the same bytes, one of them writing, with no barrier between them. It knows this for pairs of bytes, since f16 is the
// smallest element.
//
// Time is counted in intervals: one ends at every barrier of a workgroup that orders this memory, and with every
// workgroup. Barriers of subgroups divide the interval for their own subgroup only.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

namespace heed::interpreter {

// The invocation that touches memory, and when.
struct Access {
  uint32_t interval = 0;    // now
  uint32_t workgroup = 0;   // the first interval of the workgroup
  uint32_t dispatch = 0;    // the first interval of the dispatch
  uint16_t invocation = 0;  // in the workgroup
  uint16_t subgroup = 0;    // of the invocation
  uint16_t phase = 0;       // of the interval, for the subgroup
  bool atomic = false;
  bool clears = false;  // an atomic operation that gives the same whatever was there
};

class Memory {
 public:
  // `written`: all of it counts as written, as host data does, and scratch and shared memory do not. Without `checked` it is memory
  // like any other, full of zeros, which remembers nobody, for measurements: it takes a sixteenth of the room.
  Memory(uint64_t bytes, bool written, bool checked = true);

  std::byte* data() { return data_.data(); }
  uint64_t bytes() const { return data_.size(); }
  // Makes it memory that nobody has ever written.
  void forget();
  // The host writes it.
  void mark_written(uint64_t offset, uint64_t bytes);

  // Returns what is wrong with the access, or null. [offset, offset + bytes) must be within the memory.
  const char* read(uint64_t offset, uint32_t bytes, const Access& by);
  const char* write(uint64_t offset, uint32_t bytes, const Access& by);

 private:
  static constexpr uint16_t kMany = 0xffff, kAtomic = 0xfffe;
  struct Mark {
    uint32_t write = 0, read = 0;  // the interval of the last; 0: never
    uint32_t shared_read = 0;      // the dispatch in which several workgroups read it
    uint16_t writer = 0, write_subgroup = 0, write_phase = 0;
    uint16_t reader = 0, read_subgroup = 0,
             read_phase = 0;  // of all since the last barrier, if they have one in common
  };
  static bool ordered(uint16_t subgroup, uint16_t phase, const Access& by) {
    return subgroup == by.subgroup && phase < by.phase;
  }
  static const char* check_read(Mark& mark, const Access& by);
  static const char* check_write(Mark& mark, const Access& by);

  std::vector<std::byte> data_;
  std::vector<Mark> marks_;  // none where it is not checked
};

}  // namespace heed::interpreter

// Memory that records its accesses. An invocation must not read unwritten memory, and two invocations must not access the same bytes, one
// of them writing, without a barrier between. The granularity is two bytes, since f16 is the smallest element.
//
// Time is counted in intervals. An interval ends at every barrier of a workgroup that orders this memory, and with every workgroup.
// Barriers of a subgroup divide the interval for that subgroup only.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

namespace heed::interpreter {

// The invocation that accesses memory, and the time.
struct Access {
  uint32_t interval = 0;    // the present interval
  uint32_t workgroup = 0;   // the workgroup's first interval
  uint32_t dispatch = 0;    // the dispatch's first interval
  uint16_t invocation = 0;  // index in the workgroup
  uint16_t subgroup = 0;    // of the invocation
  uint16_t phase = 0;       // subdivision of the interval by the subgroup's barriers
  bool atomic = false;
  bool clears = false;  // an atomic operation whose result does not depend on the old value
};

class Memory {
 public:
  // `written`: all of it counts as written, like host data and unlike scratch and shared memory. Without `checked` it is ordinary memory,
  // full of zeros, that records nothing. That needs a sixteenth of the space, for measurements.
  Memory(uint64_t bytes, bool written, bool checked = true);

  std::byte* data() { return data_.data(); }
  uint64_t bytes() const { return data_.size(); }
  // Marks all of it as unwritten.
  void forget();
  // Marks a write by the host.
  void mark_written(uint64_t offset, uint64_t bytes);

  // Returns what is wrong with the access, or null. [offset, offset + bytes) must be within the memory.
  const char* read(uint64_t offset, uint32_t bytes, const Access& by);
  const char* write(uint64_t offset, uint32_t bytes, const Access& by);

 private:
  static constexpr uint16_t kMany = 0xffff, kAtomic = 0xfffe;
  struct Mark {
    uint32_t write = 0, read = 0;  // interval of the last write; 0: never
    uint32_t shared_read = 0;      // the dispatch in which several workgroups read it
    uint16_t writer = 0, write_subgroup = 0, write_phase = 0;
    uint16_t reader = 0, read_subgroup = 0,
             read_phase = 0;  // the common invocation of all reads since the last barrier, if there is one
  };
  static bool ordered(uint16_t subgroup, uint16_t phase, const Access& by) {
    return subgroup == by.subgroup && phase < by.phase;
  }
  static const char* check_read(Mark& mark, const Access& by);
  static const char* check_write(Mark& mark, const Access& by);

  std::vector<std::byte> data_;
  std::vector<Mark> marks_;  // empty if accesses are not checked
};

}  // namespace heed::interpreter

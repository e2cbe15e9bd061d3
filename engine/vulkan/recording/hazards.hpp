// Decides where a barrier is needed between dispatches; calls no Vulkan.
//
// The tracker stores the reads and writes since the last barrier. The next dispatch needs a barrier before it exactly if one of its reads
// overlaps a pending write (read after write), or one of its writes overlaps a pending read or write (write after read, write after write).
// A barrier orders all memory, so it empties the tracker.
#pragma once

#include <array>
#include <cstdint>
#include <span>

namespace heed::vulkan {

// Bytes begin .. end-1 of one buffer; `buffer` is any id that is equal for equal buffers.
struct Access {
  uint64_t buffer = 0;
  uint64_t begin = 0;
  uint64_t end = 0;
  bool write = false;
};

class HazardTracker {
 public:
  // The most accesses stored between two barriers. A full tracker requests a barrier, which is always correct.
  static constexpr uint32_t kCapacity = 64;

  // Adds the accesses of the next dispatch. Returns true if a barrier must come before it.
  bool enter(std::span<const Access> accesses);
  // Call this when everything before is ordered by other means.
  void reset() { count_ = 0; }

 private:
  bool conflicts(std::span<const Access> accesses) const;
  bool remember(const Access& access);  // false if full

  std::array<Access, kCapacity> pending_{};
  uint32_t count_ = 0;
};

}  // namespace heed::vulkan

// Items of parallel work, divided among workers such that data stays in the cache of the core that made it.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>

#include "base/arith.hpp"

namespace heed::cpu {

// Each worker has a share, a contiguous range of items, and takes chunks from its front. In most operations items follow the rows of the
// output, so a worker gets the same rows in each pass, and finds them in its own cache rather than in another core's, which is several
// times slower. A worker whose share is empty takes chunks from the back of others' shares, so that a delayed worker delays the pass by at
// most one chunk. Chunks shrink towards the end of a share (guided self-scheduling, Polychronopoulos & Kuck 1987,
// doi:10.1109/TC.1987.5009495), so that all workers end at about the same time.
class WorkList {
 public:
  static constexpr uint32_t kMostShares = 64;  // with more workers, several have a share in common

  // A chunk has at most `grain` items.
  WorkList(int64_t items, int64_t grain, uint32_t workers)
      : items_(items),
        unit_(ceil_div<int64_t>(std::max<int64_t>(items, 1), kMostUnits)),
        grain_(static_cast<uint32_t>(std::clamp<int64_t>(ceil_div(grain, unit_), 1, kMostUnits))),
        shares_(std::clamp(workers, 1u, kMostShares)) {
    const int64_t units = ceil_div(items, unit_);
    for (int64_t i = 0; i < shares_; ++i)
      share_[i].left.store(
          pack(static_cast<uint32_t>(units * i / shares_), static_cast<uint32_t>(units * (i + 1) / shares_)),
          std::memory_order_relaxed);
  }

  // Takes a chunk. Returns false if none is left.
  bool take(uint32_t worker, int64_t* begin, int64_t* end) {
    const uint32_t own = worker % shares_;
    if (take_from(share_[own].left, true, begin, end)) return true;
    for (uint32_t i = 1; i < shares_; ++i)
      if (take_from(share_[(own + i) % shares_].left, false, begin, end)) return true;
    return false;
  }

 private:
  // Shares are counted in units, of one item each unless there are more than 2^31 items.
  static constexpr int64_t kMostUnits = int64_t{1} << 31;
  static uint64_t pack(uint32_t front, uint32_t back) { return uint64_t{back} << 32 | front; }

  bool take_from(std::atomic<uint64_t>& share, bool at_front, int64_t* begin, int64_t* end) const {
    uint64_t left = share.load(std::memory_order_relaxed);
    while (true) {
      const auto front = static_cast<uint32_t>(left), back = static_cast<uint32_t>(left >> 32);
      if (front >= back) return false;
      // A worker that helps leaves the owner of the share most of the rest.
      const uint32_t wish = (back - front) / (at_front ? 2 : 4);
      const uint32_t count = std::clamp(wish, 1u, grain_), first = at_front ? front : back - count;
      const uint64_t rest = at_front ? pack(front + count, back) : pack(front, back - count);
      if (!share.compare_exchange_weak(left, rest, std::memory_order_relaxed)) continue;
      *begin = first * unit_;
      *end = std::min(items_, (int64_t{first} + count) * unit_);
      return true;
    }
  }

  struct alignas(64) Share {
    std::atomic<uint64_t> left;  // first unit in the low half, end in the high half
  };
  int64_t items_, unit_;
  uint32_t grain_, shares_;
  Share share_[kMostShares];
};

}  // namespace heed::cpu

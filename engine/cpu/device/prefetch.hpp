// Memory that register tiles prefetch while they multiply, because it is read or written soon. Prefetching everything at once would exceed
// the processor's outstanding requests, and most lines would be evicted before use.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>

#include "hwy/cache_control.h"

namespace heed::cpu {

// The memory that one tile prefetches in addition to the panel it reads.
struct Prefetch {
  // One address for each step of k, `pitch` bytes apart.
  const std::byte* at;
  int64_t pitch;
  // The destination of the tile's sums: one address for each row, `out_pitch` bytes apart; null: unknown. Stores that miss the caches would
  // delay the next tile. They are prefetched about a thousand cycles before the end, kLate steps per row: if it were earlier, panels that
  // stream through the first-level cache would evict them.
  const std::byte* out = nullptr;
  int64_t out_pitch = 0;
  static constexpr int64_t kLate = 4;
};

// Distance in bytes at which a tile prefetches its own panel into the first-level cache.
inline constexpr int64_t kNear = 4096;

// Prefetches into the second-level cache, for memory that the first-level cache would evict before it is read, or that comes from main
// memory. A processor has few outstanding requests for its first-level cache and many for its second: weights are read from memory 1.1
// times as fast on an Intel Xeon (Emerald Rapids).
inline void prefetch_second_cache(const std::byte* at) {
#if defined(__GNUC__)
  __builtin_prefetch(at, 0, 2);
#else
  hwy::Prefetch(at);
#endif
}

// Iterates over the addresses of a Prefetch. The constructor reads the members one by one: copying the whole struct would use loads that
// are wider than the preceding stores, which cannot be forwarded and must wait for the cache.
class Prefetcher {
 public:
  Prefetcher(const Prefetch& prefetch, int64_t steps_at_once)
      : at_(prefetch.at),
        other_(prefetch.out),
        pitch_(prefetch.pitch * steps_at_once),
        other_pitch_(prefetch.out_pitch) {}

  void next() {
    prefetch_second_cache(at_);
    prefetch_second_cache(at_ + 64);
    at_ += pitch_;
  }
  void change_over() {
    std::swap(at_, other_);
    std::swap(pitch_, other_pitch_);
  }

 private:
  const std::byte *at_, *other_;
  int64_t pitch_, other_pitch_;
};

}  // namespace heed::cpu

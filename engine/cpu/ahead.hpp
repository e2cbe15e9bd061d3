// Memory that register tiles ask the caches for while they multiply, because it is read or written soon. All at once would
// be more than a processor can wait for, and most of it forgotten again.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>

#include "hwy/cache_control.h"

namespace heed::cpu {

// What a tile asks for beside the panel that it reads.
struct Ahead {
  // One place per step of k, `step` bytes apart.
  const std::byte* at;
  int64_t step;
  // Where its sums go: one place per row, `row` bytes apart. Null: unknown. Stores that miss the caches would hold up
  // the next tile. Asked for a thousand cycles before the end, kLate steps per row: longer ago, and panels that stream
  // through the first cache would have thrown it out of there.
  const std::byte* rows = nullptr;
  int64_t row = 0;
  static constexpr int64_t kLate = 4;
};

// Bytes of its panel that a tile asks the first cache for ahead of their use.
inline constexpr int64_t kNear = 4096;

// For the second cache: what is not read before the first would have lost it, or comes from memory. A processor waits for
// few lines of its first cache at a time and for many of its second: on an Intel Xeon (Emerald Rapids) weights come from
// memory 1.1 times as fast.
inline void ask_second_cache(const std::byte* at) {
#if defined(__GNUC__)
  __builtin_prefetch(at, 0, 2);
#else
  hwy::Prefetch(at);
#endif
}

// The places of an Ahead one after the other. Passed by reference and taken apart at once: as one value it would be copied
// by loads that are wider than the stores before them, which wait until all earlier stores are in the cache.
class Asking {
 public:
  Asking(const Ahead& ahead, int64_t steps_at_once)
      : at_(ahead.at), other_(ahead.rows), step_(ahead.step * steps_at_once), other_step_(ahead.row) {}

  void next() {
    ask_second_cache(at_);
    ask_second_cache(at_ + 64);
    at_ += step_;
  }
  void change_over() {
    std::swap(at_, other_);
    std::swap(step_, other_step_);
  }

 private:
  const std::byte *at_, *other_;
  int64_t step_, other_step_;
};

}  // namespace heed::cpu

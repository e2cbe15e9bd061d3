// Counts a call's allocations on the C++ heap: the program's operator new adds to a counter of its thread.
#pragma once

#include <cstddef>
#include <cstdint>

namespace heed::test {

// Calls of operator new by this thread while counting is not paused.
uint64_t news();

// While it exists, one call of operator new on this thread may request at most this many bytes.
class LimitNews {
 public:
  explicit LimitNews(size_t bytes);
  ~LimitNews();
  LimitNews(const LimitNews&) = delete;
  LimitNews& operator=(const LimitNews&) = delete;
};

// Pauses counting inside a driver or a layer, which may use the same operator new.
class PauseNews {
 public:
  PauseNews();
  ~PauseNews();
  PauseNews(const PauseNews&) = delete;
  PauseNews& operator=(const PauseNews&) = delete;
};

}  // namespace heed::test

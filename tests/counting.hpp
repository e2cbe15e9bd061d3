// Counts what a call asks of the C++ heap: the program's operator new adds to a counter of its thread.
#pragma once

#include <cstddef>
#include <cstdint>

namespace heed::test {

// Calls of operator new by this thread while counting is not paused.
uint64_t news();

// While it lives, what this thread asks of operator new in one piece may have at most so many bytes.
class LimitNews {
 public:
  explicit LimitNews(size_t bytes);
  ~LimitNews();
  LimitNews(const LimitNews&) = delete;
  LimitNews& operator=(const LimitNews&) = delete;
};

// Within a driver or a layer, which are shared libraries of the same process and may use the same operator
// new.
class PauseNews {
 public:
  PauseNews();
  ~PauseNews();
  PauseNews(const PauseNews&) = delete;
  PauseNews& operator=(const PauseNews&) = delete;
};

}  // namespace heed::test

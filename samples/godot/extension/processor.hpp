// Measures how much processor time a thread takes from other threads that want it.
#pragma once

#include <chrono>

// Starts in the constructor, and ends with took_ms, on the same thread.
class ProcessorShare {
 public:
  ProcessorShare();
  // How many milliseconds of this thread's time others may have missed. While two threads want one processor, each waits as long as the
  // other runs: others missed at most the time that this thread waited, and at most the time that it ran. Linux reports how long a thread
  // waits; on other systems all of the time counts.
  double took_ms() const;

 private:
  double waited_before_ms_;
  std::chrono::steady_clock::time_point begin_;
};

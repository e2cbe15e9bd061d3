// Measures how much processor time a thread takes from others that want it.
#pragma once

#include <chrono>

// Begins when it is made, and ends with took_ms, on the same thread.
class ProcessorShare {
 public:
  ProcessorShare();
  // How many milliseconds of this thread's time others may have missed. While two threads want one processor, each waits for as
  // long as the other runs: what others missed is as much as this thread waited, and no more than it ran. Linux counts how long
  // a thread waits; where nothing does, all of the time counts.
  double took_ms() const;

 private:
  double waited_before_ms_;
  std::chrono::steady_clock::time_point begin_;
};

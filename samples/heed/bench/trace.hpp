// Writes times of passes as a trace for ui.perfetto.dev and chrome://tracing.
#pragma once

#include <heed/heed.hpp>
#include <string>
#include <vector>

namespace heed::program {

// Chrome's Trace Event Format, with one process per device, one thread per row of the benchmark and one complete event ("X") per pass. Only
// durations are known, so that the passes of a row are drawn without gaps.
class Trace {
 public:
  // Events of one run; times[i] belongs to passes[i].
  void add(const std::string& device, const std::string& row, const std::vector<PassInfo>& passes,
           const std::vector<PassTime>& times);
  std::string json() const;
  bool write(const std::string& path) const;  // false: the file cannot be written

 private:
  struct Event {
    size_t process, thread;
    std::string name, op, kernel, why;
    double begin_us, duration_us, flops, bytes;
    uint32_t dispatches;
  };
  std::vector<std::string> processes_, threads_;
  std::vector<size_t> process_of_thread_;
  std::vector<Event> events_;
};

}  // namespace heed::program

// A progress bar on standard error, if that is a terminal.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>

namespace samples {

class ProgressBar {
 public:
  // `unit` is "lines", or "MB" to count bytes.
  ProgressBar(std::string what, std::string unit);
  ~ProgressBar();  // removes the bar
  ProgressBar(const ProgressBar&) = delete;
  ProgressBar& operator=(const ProgressBar&) = delete;

  void show(uint64_t done, uint64_t total);
  double seconds() const;

 private:
  using Clock = std::chrono::steady_clock;
  std::string what_, unit_;
  bool terminal_ = false, drawn_ = false;
  Clock::time_point start_ = Clock::now(), last_{};
};

// Columns of the terminal on standard output, or 80 if that is no terminal.
int terminal_columns();
bool input_is_terminal();

}  // namespace samples

#include "processor.hpp"

#include <algorithm>
#include <cstdlib>

#ifdef __linux__
#include <fcntl.h>
#include <unistd.h>
#endif

namespace {

// How long the calling thread has been ready, but without a processor, since it began. Negative: the system does not report it.
double waited_ms() {
#ifdef __linux__
  const int file = open("/proc/thread-self/schedstat", O_RDONLY | O_CLOEXEC);
  if (file < 0) return -1;
  char text[96] = {};
  const ssize_t bytes = read(file, text, sizeof text - 1);
  close(file);
  if (bytes <= 0) return -1;
  // Nanoseconds that it ran, nanoseconds that it waited, and how often it ran.
  char* end = nullptr;
  const unsigned long long ran = std::strtoull(text, &end, 10);
  if (ran == 0 || *end != ' ') return -1;  // kernels without these counters report zeros
  return static_cast<double>(std::strtoull(end, nullptr, 10)) * 1e-6;
#else
  return -1;
#endif
}

}  // namespace

ProcessorShare::ProcessorShare() : waited_before_ms_(waited_ms()), begin_(std::chrono::steady_clock::now()) {}

double ProcessorShare::took_ms() const {
  const double all = std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - begin_).count();
  const double waited_after_ms = waited_before_ms_ < 0 ? -1 : waited_ms();
  if (waited_after_ms < 0) return all;
  const double waited = std::clamp(waited_after_ms - waited_before_ms_, 0.0, all);
  return std::min(waited, all - waited);
}

#include "progress.hpp"

#include <algorithm>
#include <cstdio>

#ifdef _WIN32
#include <io.h>
#else
#include <sys/ioctl.h>
#include <unistd.h>
#endif

namespace samples {
namespace {

constexpr int kWidth = 30;
constexpr double kMegabyte = 1e6;

#ifdef _WIN32
bool is_terminal(std::FILE* file) { return _isatty(_fileno(file)) != 0; }
#else
bool is_terminal(std::FILE* file) { return isatty(fileno(file)) != 0; }
#endif

}  // namespace

ProgressBar::ProgressBar(std::string what, std::string unit)
    : what_(std::move(what)), unit_(std::move(unit)), terminal_(is_terminal(stderr)) {}

ProgressBar::~ProgressBar() {
  if (drawn_) std::fprintf(stderr, "\r\033[K");
}

double ProgressBar::seconds() const { return std::chrono::duration<double>(Clock::now() - start_).count(); }

void ProgressBar::show(uint64_t done, uint64_t total) {
  const Clock::time_point now = Clock::now();
  if (!terminal_ || total == 0 || (drawn_ && now - last_ < std::chrono::milliseconds(50) && done < total)) return;
  drawn_ = true;
  last_ = now;
  const double part = static_cast<double>(done) / static_cast<double>(total), scale = unit_ == "MB" ? kMegabyte : 1;
  std::string bar(static_cast<size_t>(part * kWidth), '#');
  bar.resize(kWidth, '.');
  std::fprintf(stderr, "\r\033[K%s [%s] %.0f of %.0f %s", what_.c_str(), bar.c_str(), static_cast<double>(done) / scale,
               static_cast<double>(total) / scale, unit_.c_str());
  const double spent = seconds();
  if (part > 0.02 && spent > 1) std::fprintf(stderr, ", %.0f s left", spent / part - spent);
  std::fflush(stderr);
}

int terminal_columns() {
#ifndef _WIN32
  winsize size{};
  if (isatty(STDOUT_FILENO) && ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0)
    return std::max<int>(size.ws_col, 20);
#endif
  return 80;
}

bool input_is_terminal() { return is_terminal(stdin); }

}  // namespace samples

#include "terminal.hpp"

#include <algorithm>
#include <csignal>
#include <cstdio>

#ifdef _WIN32
#include <io.h>
#else
#include <sys/ioctl.h>
#include <unistd.h>
#endif

namespace samples {
namespace {

volatile std::sig_atomic_t flag = 0;
extern "C" void on_interrupt(int signal) {
  flag = 1;
#ifdef _WIN32
  std::signal(signal, on_interrupt);
#else
  static_cast<void>(signal);
#endif
}

#ifdef _WIN32
bool is_terminal(std::FILE* file) { return _isatty(_fileno(file)) != 0; }
#else
bool is_terminal(std::FILE* file) { return isatty(fileno(file)) != 0; }
#endif

}  // namespace

bool input_is_terminal() { return is_terminal(stdin); }
bool output_is_terminal() { return is_terminal(stdout); }

int terminal_columns() {
#ifndef _WIN32
  winsize size{};
  if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0) return std::max<int>(size.ws_col, 20);
#endif
  return 80;
}

void catch_interrupts() {
#ifdef _WIN32
  std::signal(SIGINT, on_interrupt);
#else
  struct sigaction action = {};
  action.sa_handler = on_interrupt;  // without SA_RESTART, so that reading a line ends, too
  sigaction(SIGINT, &action, nullptr);
#endif
}

bool interrupted() {
  const bool was = flag != 0;
  flag = 0;
  return was;
}

Line read_line(std::string* line) {
  line->clear();
  for (;;) {
    const int c = std::fgetc(stdin);
    if (c == EOF) {
      const bool stopped = interrupted();
      std::clearerr(stdin);
      if (stopped) return Line::Interrupted;
      return line->empty() ? Line::End : Line::Read;
    }
    if (c == '\n') break;
    line->push_back(static_cast<char>(c));
  }
  if (!line->empty() && line->back() == '\r') line->pop_back();
  return Line::Read;
}

void write_text(std::string_view text) {
  std::string shown(text);
  if (output_is_terminal())
    std::erase_if(shown,
                  [](char c) { return (static_cast<unsigned char>(c) < 32 && c != '\n' && c != '\t') || c == 127; });
  std::fwrite(shown.data(), 1, shown.size(), stdout);
  std::fflush(stdout);
}

void write_over(const std::string& text) {
  std::string shown = text;
  // A UTF-8 character has one non-continuation byte and is one or two columns wide: half of the line has room for any of them.
  const auto room = static_cast<size_t>(terminal_columns() - 1);
  bool is_ascii = true;
  for (const char c : shown) is_ascii = is_ascii && static_cast<unsigned char>(c) < 128;
  const size_t most = is_ascii ? room : room / 2;
  if (shown.size() > most) shown.erase(0, shown.size() - most);
  while (!shown.empty() && (static_cast<unsigned char>(shown.front()) & 0xc0) == 0x80) shown.erase(0, 1);
  std::fputs("\r\033[K", stdout);
  write_text(shown);
}

std::string in_color(int color, const std::string& text) {
  if (color == 0 || !output_is_terminal()) return text;
  return "\033[38;5;" + std::to_string(color) + "m" + text + "\033[0m";
}

void write_colored(int color, const std::string& text) {
  const std::string all = in_color(color, text);
  std::fwrite(all.data(), 1, all.size(), stdout);
  std::fflush(stdout);
}

}  // namespace samples

// Formatting of failure messages; the text goes to the host's Log.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include <heed/status.hpp>

namespace heed {

// printf-style text. Never fails; an encoding error gives "".
[[gnu::format(printf, 1, 2)]] std::string format(const char* pattern, ...);

// "[3, 768]"
std::string shape_text(std::span<const int64_t> shape);

void log(const Log& log, LogLevel level, const std::string& message);

// A thread's last message. Plain memory, since a library runs no code at a thread's exit that its host did not ask for.
struct LastMessage {
  char text[4096] = "";
  // Keeps as much of it as there is room for, and no part of a character of UTF-8.
  void keep(std::string_view message);
};

// Logs `message` as an error, keeps it as the thread's last message and returns `status`, so that a failure is one line at its
// place.
Status fail(const Log& log, Status status, const std::string& message);

// InvalidArgument for a call that knows no log yet, since its handle is empty or what it should fill is null.
Status refuse(const char* message);

}  // namespace heed

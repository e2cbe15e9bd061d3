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

// A thread's last message. Plain memory without a destructor, so that the library runs no code at a thread's exit.
struct LastMessage {
  char text[4096] = "";
  // Stores the message, truncated to the available room at a whole UTF-8 character.
  void keep(std::string_view message);
};

// Logs `message` as an error, stores it as the thread's last message and returns `status`, so that a failure is one line at its place.
Status fail(const Log& log, Status status, const std::string& message);

// InvalidArgument for a call that has no log yet, since its handle is empty or an output pointer is null.
Status refuse(const char* message);

}  // namespace heed

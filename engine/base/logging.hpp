// Formatting of failure messages; the text goes to the host's Log.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include <heed/status.hpp>

namespace heed {

// printf-style text. Never fails; an encoding error gives "".
[[gnu::format(printf, 1, 2)]] std::string format(const char* pattern, ...);

// "[3, 768]"
std::string shape_text(std::span<const int64_t> shape);

void log(const Log& log, LogLevel level, const std::string& message);

// Logs `message` as an error and returns `status`, so that a failure is one line at its place.
Status fail(const Log& log, Status status, const std::string& message);

}  // namespace heed

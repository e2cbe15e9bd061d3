#include "base/logging.hpp"

#include <algorithm>
#include <cstdarg>
#include <cstdint>
#include <cstdio>
#include <cstring>

namespace heed {
namespace {

thread_local constinit LastMessage last;

}  // namespace

void LastMessage::keep(std::string_view message) {
  size_t length = std::min(message.size(), sizeof(text) - 1);
  while (length < message.size() && length > 0 && (static_cast<uint8_t>(message[length]) & 0xc0) == 0x80) --length;
  std::memcpy(text, message.data(), length);
  text[length] = 0;
}

const char* last_message() { return last.text; }

std::string format(const char* pattern, ...) {
  va_list args;
  va_start(args, pattern);
  va_list again;
  va_copy(again, args);
  const int length = std::vsnprintf(nullptr, 0, pattern, args);
  va_end(args);
  std::string text;
  if (length > 0) {
    text.resize(static_cast<size_t>(length));
    std::vsnprintf(text.data(), text.size() + 1, pattern, again);
  }
  va_end(again);
  return text;
}

std::string shape_text(std::span<const int64_t> shape) {
  std::string text = "[";
  for (size_t i = 0; i < shape.size(); ++i) text += (i == 0 ? "" : ", ") + std::to_string(shape[i]);
  return text + "]";
}

void log(const Log& log, LogLevel level, const std::string& message) {
  if (log.callback != nullptr && level >= log.minimum) log.callback(log.user, level, message.c_str());
}

Status fail(const Log& target, Status status, const std::string& message) {
  last.keep(message);
  log(target, LogLevel::Error, message);
  return status;
}

Status refuse(const char* message) { return fail({}, Status::InvalidArgument, message); }

void write_to_stderr(void*, LogLevel level, const char* message) {
  static constexpr const char* kNames[] = {"debug", "info", "warning", "error"};
  std::fprintf(stderr, "heed: %s: %s\n", kNames[static_cast<int>(level)], message);
}

Log stderr_log(LogLevel minimum) { return {write_to_stderr, nullptr, minimum}; }

}  // namespace heed

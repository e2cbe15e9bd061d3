#include "program.hpp"

#include <csignal>
#include <cstdio>

namespace learn {
namespace {

std::string reasons;
volatile std::sig_atomic_t was_interrupted = 0;
extern "C" void on_interrupt(int) { was_interrupted = 1; }

}  // namespace

heed::Log program_log() {
  return {[](void*, heed::LogLevel level, const char* message) {
            if (level < heed::LogLevel::Error)
              std::fprintf(stderr, "learn: %s\n", message);
            else
              reasons.append(reasons.empty() ? "" : "; ").append(message);
          },
          nullptr, heed::LogLevel::Warning};
}

int bad_input(const std::string& message) {
  std::fprintf(stderr, "learn: %s\n", message.c_str());
  return kBadInput;
}

int failed(const std::string& what, heed::Status status) {
  using heed::Status;
  std::fprintf(stderr, "learn: %s: %s\n", what.c_str(), reasons.empty() ? heed::to_string(status) : reasons.c_str());
  const bool input = status == Status::InvalidFile || status == Status::NotFound || status == Status::MissingWeight ||
                     status == Status::ShapeMismatch || status == Status::Unsupported || status == Status::FileError;
  return input ? kBadInput : kFailed;
}

int open_device(const std::string& select, heed::Device* device) {
  const heed::Status status = heed::Device::open({.select = select, .log = program_log()}, device);
  if (status != heed::Status::Ok) return failed("no device", status);
  std::printf("%s\n", device->info().word.c_str());
  return kOk;
}

void catch_interrupts() { std::signal(SIGINT, on_interrupt); }
bool interrupted() { return was_interrupted != 0; }

}  // namespace learn

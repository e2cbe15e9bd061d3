// Error messages of the samples: one line on standard error, with the reasons that heed logged.
#pragma once

#include <string>

#include <heed/status.hpp>

namespace samples {

// Exit codes.
inline constexpr int kOk = 0, kFailed = 1, kBadInput = 2, kInterrupted = 130;

// These print the line, and return the exit code.
int bad_input(const std::string& message);
int failed(const std::string& what,
           heed::Status status);  // kFailed if a device or its memory is at fault, else kBadInput

// Prints warnings at once, and keeps errors for failed().
heed::Log program_log();
std::string take_reasons();  // the errors so far

// Prints all devices, a line each. Returns the exit code.
int list_devices();

}  // namespace samples

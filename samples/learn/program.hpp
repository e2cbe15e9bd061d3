// What the modes of the program share: exit codes, messages, Ctrl-C.
#pragma once

#include <string>

#include <heed/heed.hpp>

namespace learn {

inline constexpr int kOk = 0, kFailed = 1, kBadInput = 2, kInterrupted = 130;

// heed's error messages become part of the one line that the program prints about a failure. Warnings are printed at once.
heed::Log program_log();
int bad_input(const std::string& message);
int failed(const std::string& what, heed::Status status);
// Opens the device that an option names, and prints its word. An exit code.
int open_device(const std::string& select, heed::Device* device);

void catch_interrupts();
bool interrupted();

}  // namespace learn

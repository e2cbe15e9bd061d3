// Code that both modes share.
#pragma once

#include <string>

#include <heed/heed.hpp>

#include "../complaints.hpp"

namespace learn {

using samples::bad_input, samples::failed, samples::kBadInput, samples::kFailed, samples::kInterrupted, samples::kOk,
    samples::program_log;

// Opens the device that an option names, and prints its name. Returns an exit code.
int open_device(const std::string& select, heed::Device* device);

void catch_interrupts();
bool interrupted();

}  // namespace learn

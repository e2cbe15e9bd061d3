// `swarm --lockstep`: two processes on two devices play one game. They exchange only key presses, and compare a hash of the world in every
// frame.
#pragma once

#include <cstdint>
#include <string>

namespace swarm {

struct LockstepOptions {
  bool wanted = false;
  std::string beside = "cpu";  // the device of the other process
  std::string record, replay;  // files of pressed keys
  uint32_t port = 0;           // address of the process that started this one
};

// All throw Failure, also if the worlds differ.
void run_lockstep(const LockstepOptions& options, const std::string& device, uint32_t frames, const char* program);

}  // namespace swarm

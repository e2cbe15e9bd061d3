// `swarm --lockstep`: two processes on two devices play one game. They exchange key presses alone, and compare a hash of the world in
// every frame.
#pragma once

#include <cstdint>
#include <string>

namespace swarm {

struct LockstepOptions {
  bool wanted = false;
  std::string beside = "cpu";  // the device of the other process
  std::string record, replay;  // files of pressed keys
  uint32_t port = 0;           // of the process that this one was started by
};

// All throw Failure, also if the worlds part.
void run_lockstep(const LockstepOptions& options, const std::string& device, uint32_t frames, const char* program);

}  // namespace swarm

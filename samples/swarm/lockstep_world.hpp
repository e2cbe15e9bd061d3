// The world of `swarm --lockstep`: agents of two teams that attend to each other, and a step that has the same bits on every device. The
// players' keys are the only input.
#pragma once

#include <heed/heed.hpp>

#include <array>
#include <cstdint>
#include <string>
#include <vector>

namespace swarm {

// A player's keys, as bits.
using Keys = uint8_t;
using PressedKeys = std::array<Keys, 2>;  // keys of the host's team, and of the team that joined

class LockstepWorld {
 public:
  // Opens a device by a part of its name; "": a Vulkan device, or the CPU if none supports reproducible plans. Throws Failure, also if the
  // named device does not support them.
  explicit LockstepWorld(const std::string& device);
  // Runs one frame.
  void step(const PressedKeys& pressed);
  // Returns a hash of all agents' bits.
  uint64_t hash() const;
  const std::string& device() const { return word_; }

 private:
  heed::Device device_;
  heed::Plan plan_;
  heed::State state_;
  std::string word_;
  std::vector<float> agents_, pushes_;
};

}  // namespace swarm

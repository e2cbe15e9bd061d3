// The world of `swarm --lockstep`: agents of two teams that look at each other by attention, and a step that has the same bits
// on every device. What the players press is all that goes in.
#pragma once

#include <heed/heed.hpp>

#include <array>
#include <cstdint>
#include <string>
#include <vector>

namespace swarm {

// Left, right, up and down of a player, as bits.
using Keys = uint8_t;
using PressedKeys = std::array<Keys, 2>;  // of the team of the host, and of the one that joined

class LockstepWorld {
 public:
  // Opens a device by a part of its name; "": a Vulkan device, or the CPU if none can promise the bits. Throws Failure, also if the
  // named device cannot.
  explicit LockstepWorld(const std::string& device);
  // One frame.
  void step(const PressedKeys& pressed);
  // A fingerprint of all agents' bits.
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

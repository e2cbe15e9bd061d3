// The options of the command line.
#pragma once

#include "learn/learner.hpp"
#include "lockstep.hpp"
#include "overlay.hpp"

namespace swarm {

struct Options {
  Flavour flavour = Flavour::Flock;
  uint32_t agents = 0;  // 0: a number that suits the device
  uint32_t targets = 0;
  std::array<bool, SWARM_HEADS> heads = {true, true, true, true};
  std::string device;
  bool headless = false, validate = false, report = false, links = true;
  uint32_t frames = 0;  // 0: until the window is closed
  std::string png;
  VkExtent2D size = {1280, 720};
  OverlayKind overlay = OverlayKind::Full;
  double budget_ms = 1000.0 / 60;
  LearnOptions learn;
  uint32_t hunters = 4;
  std::string learned;  // output file for the learned weights
  LockstepOptions lockstep;
  double attention_ms = 0;  // limit of GPU time for attention in a frame; 0: each frame computes all of it
};

// Both return the number of messages from the validation layer, and throw Failure.
uint32_t run_headless(const Options& options);
uint32_t run_window(const Options& options);

}  // namespace swarm

// The program's state on the host: flavour, heads, camera, time.
#pragma once

#include "options.hpp"

namespace swarm {

class Show {
 public:
  Show(const Options& options, const Gpu& gpu);

  Flavour flavour;
  std::array<bool, SWARM_HEADS> heads;
  uint32_t agents, targets;
  bool paused = false, links;
  bool cursor_on = false;                            // the player's cursor pulls agents
  bool pick = false;                                 // pick the agent at the pointer
  glm::vec2 pointer = glm::vec2(0);                  // on the screen, [-1, 1]
  float turn = 0.6f, tilt = 0.30f, distance = 3.5f;  // of the camera, radians and world units

  void next_flavour(int by);
  void set_agents(uint32_t count);  // clamps the count; new agents appear with the next frame
  void restart() {
    spawned_ = 0;
    forget_ = true;
  }

  // Advances the time; the crowd makes one step unless it is paused.
  void advance(float seconds);
  Frame frame(VkExtent2D size) const;
  void describe(OverlayState* state) const;
  // The work of the next frame. Its new agents are no longer new in the frame after.
  CrowdStep take_step();

 private:
  glm::vec3 eye() const;
  float time_ = 0, step_seconds_ = 0;
  uint32_t steps_ = 0, spawned_ = 0, seed_ = 1;
  bool forget_ = false;
  std::array<float, SWARM_HEADS> fade_{};  // from 0 to 1, so that heads fade in and out
};

// Adds a hunt's counts so far to the curve and the panel. Without a hunt, it does nothing.
void describe_hunt(const Renderer& renderer, Survival* survival, OverlayState* state);
// Reads the last counts, prints the survival of the first and the last quarter, and writes the weights if the options name a file. The GPU
// must have finished.
void finish_hunt(const Options& options, Renderer& renderer, Survival* survival);

}  // namespace swarm

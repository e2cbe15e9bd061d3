// Learns within the frame: heed's passes for acting, remembering and one step of the optimizer go into the renderer's command buffer.
//
// A step may be sliced over several frames. Meanwhile agents act by the weights of the step before, which are a State of their own,
// and go on to remember: the step reads a batch that was drawn when it began.
#pragma once

#include <heed/vulkan_frames.hpp>

#include "../bindings.hpp"
#include "policy.hpp"

namespace swarm {

struct LearnOptions {
  bool on = false;
  uint32_t seed = 1;
  double budget_ms = 0;  // GPU time that a frame may spend on learning; 0: each frame takes a whole step
};

class Learner {
 public:
  // Compiles all plans and makes the weights. Throws Failure.
  Learner(const Gpu& gpu, heed::Device& device, const Bindings& bindings, const LearnOptions& options);

  // Agents act: reads Bindings::seen, writes Bindings::action. Each of these calls synchronizes with compute shaders before and
  // after it.
  void record_action(VkCommandBuffer commands, uint32_t agents, uint32_t slot) const;
  // Takes Bindings::tried into the memory, and goes on with a step, or begins one with Bindings::picks.
  void record_step(VkCommandBuffer commands, uint32_t agents, uint32_t slot);
  // Forgets all that was learned and remembered: the weights are again those that it began with.
  void record_restart(VkCommandBuffer commands);

  uint32_t steps() const { return steps_; }  // that were recorded to their end since the last restart
  uint32_t parts() const { return parts_; }
  int64_t weights() const { return policy_.weights(); }
  // Waits, and writes the weights to a file of safetensors.
  void save(const std::string& path) const;

 private:
  Policy policy_;
  const Bindings& bindings_;
  double budget_ms_;
  heed::Plan act_, remember_, learn_;
  heed::State memory_;
  heed::State first_, learned_, acting_;  // weights and moments: at the beginning, of the optimizer, of the agents
  Buffer settings_, batch_, spare_;
  heed::vulkan::Cursor cursor_;
  uint32_t runs_ = 0, steps_ = 0, parts_ = 0;
};

}  // namespace swarm

// Learns within the frame: heed's passes for actions, the memory and one step of the optimizer go into the renderer's command buffer.
//
// A step may be spread over several frames. Meanwhile agents act by the weights before the step, which are a separate State, and the memory
// grows further: the step reads a batch that was drawn when it began.
#pragma once

#include <heed/vulkan_frames.hpp>

#include "../bindings.hpp"
#include "policy.hpp"

namespace swarm {

struct LearnOptions {
  bool on = false;
  uint32_t seed = 1;
  double budget_ms = 0;  // limit of GPU time for learning in a frame; 0: each frame runs a whole step
};

class Learner {
 public:
  // Compiles all plans and initializes the weights. Throws Failure.
  Learner(const Gpu& gpu, heed::Device& device, const Bindings& bindings, const LearnOptions& options);

  // Computes actions: reads Bindings::seen, writes Bindings::action. Each of these calls synchronizes with compute shaders before and after
  // it.
  void record_action(VkCommandBuffer commands, uint32_t agents, uint32_t slot) const;
  // Adds Bindings::tried to the memory, and continues a step, or begins one with Bindings::picks.
  void record_step(VkCommandBuffer commands, uint32_t agents, uint32_t slot);
  // Resets weights and memory to their initial values.
  void record_restart(VkCommandBuffer commands);

  uint32_t steps() const { return steps_; }  // completed steps since the last restart
  uint32_t parts() const { return parts_; }
  int64_t weights() const { return policy_.weights(); }
  // Waits, and writes the weights to a safetensors file.
  void save(const std::string& path) const;

 private:
  Policy policy_;
  const Bindings& bindings_;
  double budget_ms_;
  heed::Plan act_, remember_, learn_;
  heed::State memory_;
  heed::State first_, learned_, acting_;  // weights and moments: the initial ones, the optimizer's, the agents'
  Buffer settings_, batch_, spare_;
  heed::vulkan::Cursor cursor_;
  uint32_t runs_ = 0, steps_ = 0, parts_ = 0;
};

}  // namespace swarm

// A hunt: agents that flee from hunters, and learn to. Records a frame's work on them.
#pragma once

#include "learner.hpp"

namespace swarm {

class Hunt {
 public:
  Hunt(const Gpu& gpu, heed::Device& device, const Bindings& bindings, const LearnOptions& options);

  // Records observation, actions, movement and learning, after the agents' attention. Compute shaders read and write its data. If
  // `timestamps` is not null, writes query `first` before learning and `first + 1` after it.
  void record(VkCommandBuffer commands, uint32_t agents, uint32_t slot, VkQueryPool timestamps, uint32_t first);
  Learner& learner() { return learner_; }
  const Learner& learner() const { return learner_; }

 private:
  void dispatch(VkCommandBuffer commands, VkPipeline pipeline, uint32_t slot, uint32_t groups) const;

  const Bindings& bindings_;
  Learner learner_;
  Owned<VkPipeline> observe_, flee_, hunt_;
};

}  // namespace swarm

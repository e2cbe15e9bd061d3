// A hunt: agents that flee from hunters, and learn to. Records what a frame does with them.
#pragma once

#include "learner.hpp"

namespace swarm {

class Hunt {
 public:
  Hunt(const Gpu& gpu, heed::Device& device, const Bindings& bindings, const LearnOptions& options);

  // Records seeing, acting, moving and learning, after the agents' attention. Reads and writes what compute shaders do. If
  // `timestamps` is not null, query `first` is written before learning and `first + 1` after it.
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

// The agents of one frame, all in the renderer's command buffer: attention, one step, the picked agent's
// links.
#pragma once

#include <memory>

#include "spread.hpp"

namespace swarm {

// What one frame does with the crowd.
struct CrowdStep {
  Flavour flavour = Flavour::Flock;
  uint32_t agents = 0, targets = 0;
  uint32_t spawn_from = UINT32_MAX;  // agents from here on are new; UINT32_MAX: none are
  bool move = true;                  // false: paused
  bool links = true;                 // the picked agent's

  Look look() const { return {flavour, agents, targets}; }
};

class Crowd {
 public:
  // `attention_ms`: GPU time of attention per frame, over as many frames as it takes; 0: all of it in each frame.
  Crowd(const Gpu& gpu, const Bindings& bindings, double attention_ms);

  // Attention of all agents, and one step of each. Reads what earlier frames on this queue wrote.
  // `timestamps`: query `first` before and `first + 1` after attention, if not null.
  void record_step(VkCommandBuffer commands, const CrowdStep& step, uint32_t slot, VkQueryPool timestamps,
                   uint32_t first);
  // Null without a budget.
  const Spread* spread() const { return spread_.get(); }
  // Leaves everything visible to vertex shaders.
  void record_links(VkCommandBuffer commands, const CrowdStep& step, uint32_t slot) const;

 private:
  void dispatch(VkCommandBuffer commands, VkPipeline pipeline, uint32_t slot, uint32_t invocations) const;

  const Bindings& bindings_;
  Attention attention_;
  std::unique_ptr<Spread> spread_;
  Owned<VkPipeline> spawn_, targets_, integrate_, pick_, strongest_;
};

}  // namespace swarm

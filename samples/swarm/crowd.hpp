// Records a frame's work on the agents into the renderer's command buffer: attention, one step, and the links of the picked agent.
#pragma once

#include <memory>

#include "learn/hunt.hpp"
#include "spread.hpp"

namespace swarm {

// The work of one frame on the crowd.
struct CrowdStep {
  Flavour flavour = Flavour::Flock;
  uint32_t agents = 0, targets = 0;
  uint32_t spawn_from = UINT32_MAX;  // agents from this index on are new; UINT32_MAX: none
  bool move = true;                  // false: paused
  bool links = true;                 // show the picked agent's attention
  bool forget = false;               // the hunt restarts, with initial weights

  Look look() const { return {flavour, agents, targets}; }
};

class Crowd {
 public:
  // `attention_ms` is the limit of GPU time for attention in a frame; it is then spread over several frames. 0: each frame computes all of
  // it. A crowd that learns is hunted, and has no other flavour.
  Crowd(const Gpu& gpu, const Bindings& bindings, double attention_ms, const LearnOptions& learn);

  // Records the attention of all agents and one step of each. Reads what earlier frames on this queue wrote. If `timestamps` is not null,
  // writes query `first` before attention and `first + 1` after it, and `first + 3` before learning and `first + 4` after it.
  void record_step(VkCommandBuffer commands, const CrowdStep& step, uint32_t slot, VkQueryPool timestamps,
                   uint32_t first);
  // Null if attention has no budget.
  const Spread* spread() const { return spread_.get(); }
  // Null if the crowd does not learn.
  const Hunt* hunt() const { return hunt_.get(); }
  // Records the picked agent's links. Vertex shaders may read all results afterwards.
  void record_links(VkCommandBuffer commands, const CrowdStep& step, uint32_t slot) const;

 private:
  void dispatch(VkCommandBuffer commands, VkPipeline pipeline, uint32_t slot, uint32_t invocations) const;

  const Bindings& bindings_;
  Attention attention_;
  std::unique_ptr<Spread> spread_;
  std::unique_ptr<Hunt> hunt_;
  Owned<VkPipeline> spawn_, targets_, integrate_, pick_, strongest_;
};

}  // namespace swarm

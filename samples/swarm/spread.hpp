// Spreads attention over several frames, with a budget of GPU time for each. Until a run has finished, agents steer by the result of the
// run before.
#pragma once

#include <heed/vulkan_frames.hpp>

#include "attention.hpp"
#include "bindings.hpp"

namespace swarm {

class Spread {
 public:
  Spread(const Gpu& gpu, const Bindings& bindings, const Attention& attention, double budget_ms);

  // Records the next part. A new run starts from a copy of agents and targets, when the last run has finished or was for another `look`.
  // Includes the barriers to compute shaders before and after.
  void record(VkCommandBuffer commands, const Look& look);

  uint32_t parts() const { return parts_; }        // number of recorded parts
  uint32_t finished() const { return finished_; }  // number of runs that were recorded completely

 private:
  void begin(VkCommandBuffer commands, const Look& look);
  void publish(VkCommandBuffer commands);

  const Bindings& bindings_;
  const Attention& attention_;
  double budget_ms_;
  Buffer agents_, targets_, look_;  // a run reads the first two, which are copies, and writes the third
  heed::vulkan::Cursor cursor_;
  Look run_;
  uint32_t runs_ = 0, parts_ = 0, finished_ = 0;
};

}  // namespace swarm

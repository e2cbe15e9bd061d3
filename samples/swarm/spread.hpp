// Attention spread over several frames, each within a budget of GPU time. Meanwhile agents go on by what they last
// looked at.
#pragma once

#include <heed/vulkan_frames.hpp>

#include "attention.hpp"
#include "bindings.hpp"

namespace swarm {

class Spread {
 public:
  Spread(const Gpu& gpu, const Bindings& bindings, const Attention& attention, double budget_ms);

  // The next part. It starts anew, from a copy of agents and targets, when the last run is through or
  // `look` differs from that run's. Orders itself after compute shaders, and compute shaders after it.
  void record(VkCommandBuffer commands, const Look& look);

  uint32_t parts() const { return parts_; }        // recorded
  uint32_t finished() const { return finished_; }  // runs of which all parts are recorded

 private:
  void begin(VkCommandBuffer commands, const Look& look);
  void publish(VkCommandBuffer commands);

  const Bindings& bindings_;
  const Attention& attention_;
  double budget_ms_;
  Buffer agents_, targets_, look_;  // copies that the run reads, and what it writes
  heed::vulkan::Cursor cursor_;
  Look run_;
  uint32_t runs_ = 0, parts_ = 0, finished_ = 0;
};

}  // namespace swarm

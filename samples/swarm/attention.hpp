// heed as a guest of this renderer: it gets the renderer's device, and records attention into its frames.
#pragma once

#include <heed/vulkan.hpp>

#include "motives.hpp"
#include "resources.hpp"

namespace swarm {

// The renderer's buffers that attention reads and writes.
struct AttentionBuffers {
  VkBuffer agents, targets, look;  // rows, rows, what every agent looks at
  VkBuffer row, weights;           // of the picked agent
};

class Attention {
 public:
  Attention(const Gpu& gpu, const AttentionBuffers& buffers, uint32_t slots);

  // Every agent's attention. `slot`: which of the frames in flight.
  void record_look(VkCommandBuffer commands, Flavour flavour, uint32_t agents, uint32_t targets,
                   uint32_t slot) const;
  // The picked agent's weights over `keys` agents or targets.
  void record_weights(VkCommandBuffer commands, Flavour flavour, uint32_t keys, uint32_t slot) const;

 private:
  AttentionBuffers buffers_;
  heed::Device device_;
  heed::Weights weights_;
  heed::Plan look_[3], picked_[3];
};

}  // namespace swarm

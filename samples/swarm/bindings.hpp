// Everything that shaders bind, in one descriptor set per frame in flight: see shaders/shared.h.
#pragma once

#include <array>

#include "resources.hpp"
#include "shaders/shared.h"

namespace swarm {

inline constexpr uint32_t kSlots = 2;  // frames in flight
inline constexpr uint32_t kMaxBoxes = 2048;

class Bindings {
 public:
  explicit Bindings(const Gpu& gpu);

  // The crowd's buffers. One pass writes what the next one reads, and all frames in flight share them.
  Buffer agents, targets, look, trails, pick, weights, links;
  // Buffers of a hunt: see shaders/shared.h.
  Buffer seen, action, lives, tried, places, picks, counts;

  VkPipelineLayout layout() const { return layout_; }
  void set_font(VkImageView view);
  // Writes the shaders' data of this frame. The GPU must have finished with the slot.
  void write(uint32_t slot, const Frame& frame, std::span<const Box> boxes);
  // Returns a hunt's counts up to the last frame of this slot that the GPU has finished.
  Counts tally(uint32_t slot) const;
  void bind(VkCommandBuffer commands, VkPipelineBindPoint point, uint32_t slot) const {
    vkCmdBindDescriptorSets(commands, point, layout_, 0, 1, &sets_[slot], 0, nullptr);
  }

 private:
  void make_layout();
  void make_sets();

  const Gpu& gpu_;
  Owned<VkDescriptorSetLayout> set_layout_;
  Owned<VkPipelineLayout> layout_;
  Owned<VkDescriptorPool> pool_;
  Owned<VkSampler> sampler_;
  std::array<VkDescriptorSet, kSlots> sets_{};
  std::array<Buffer, kSlots> frames_, boxes_, tallies_;
};

}  // namespace swarm

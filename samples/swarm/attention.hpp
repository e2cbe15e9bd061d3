// heed in this renderer: it adopts the renderer's device, and records attention into its frames.
#pragma once

#include <heed/vulkan_frames.hpp>

#include "barrier.hpp"
#include "motives.hpp"
#include "resources.hpp"

namespace swarm {

// The renderer's buffers that attention reads and writes.
struct LookBuffers {
  VkBuffer agents, targets, look;  // rows, rows, one result per agent (see shaders/shared.h)
};
struct PickBuffers {
  VkBuffer row, weights;  // row of the picked agent
};

// Which agents attend to which.
struct Look {
  Flavour flavour = Flavour::Flock;
  uint32_t agents = 0, targets = 0;
  friend bool operator==(const Look&, const Look&) = default;
};

class Attention {
 public:
  // Compiles plans for these flavours. With `spread` use record_part in place of record_look. It needs plans that measure their passes.
  Attention(const Gpu& gpu, const LookBuffers& look, const PickBuffers& pick, std::span<const Flavour> flavours,
            uint32_t slots, bool spread);
  heed::Device& device() { return device_; }

  // Records the attention of all agents. `slot` is the index of the frame in flight.
  void record_look(VkCommandBuffer commands, const Look& look, uint32_t slot) const;
  // Records the part after `cursor` that should fit into `budget_ms`, on the caller's buffers. `slot` is the index of the run in flight.
  void record_part(VkCommandBuffer commands, const Look& look, const LookBuffers& buffers, uint32_t slot,
                   double budget_ms, heed::vulkan::Cursor* cursor) const;
  // heed's side of the barrier before the recorded attention, and of the one after it.
  Side reads(Flavour flavour) const;
  Side writes(Flavour flavour) const;
  // Records the picked agent's attention weights over `keys` agents or targets.
  void record_weights(VkCommandBuffer commands, Flavour flavour, uint32_t keys, uint32_t slot) const;

 private:
  const heed::Plan& plan_of(Flavour flavour) const { return look_[static_cast<size_t>(flavour)]; }

  LookBuffers buffers_;
  PickBuffers picked_buffers_;
  heed::Device device_;
  heed::Plan look_[kFlavourCount], picked_[kFlavourCount];  // plans by flavour
};

}  // namespace swarm

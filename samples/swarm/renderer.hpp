// One frame: one command buffer on one queue, with attention, movement and drawing in it. Two frames are in
// flight.
#pragma once

#include <array>
#include <memory>

#include "painter.hpp"

namespace swarm {

// GPU times of the last frame whose end was seen, in milliseconds; negative: not known.
struct Times {
  double frame = -1, attention = -1;
};

struct FrameJob {
  Frame frame{};
  CrowdStep step;
  std::span<const Box> boxes;
  uint32_t image = 0;  // of the canvas
  VkSemaphore wait = VK_NULL_HANDLE, signal = VK_NULL_HANDLE;
};

class Renderer {
 public:
  // `attention_ms`: see Crowd.
  Renderer(const Gpu& gpu, const Canvas& canvas, double attention_ms);
  ~Renderer();
  Bindings& bindings() { return bindings_; }
  const Crowd& crowd() const { return crowd_; }

  // Waits until the slot's earlier frame is done, and returns which one is next.
  uint32_t next_slot();
  // Records and submits into that slot.
  void render(const FrameJob& job);
  const Times& times() const { return times_; }

 private:
  struct Slot {
    Owned<VkCommandPool> pool;
    VkCommandBuffer commands = VK_NULL_HANDLE;
    Owned<VkFence> done;
    bool used = false;
  };
  void record(const FrameJob& job, VkCommandBuffer commands);
  void read_times();

  const Gpu& gpu_;
  const Canvas& canvas_;
  Bindings bindings_;
  Crowd crowd_;
  Painter painter_;
  Owned<VkQueryPool> queries_;
  std::array<Slot, kSlots> slots_;
  uint32_t slot_ = 0;
  Times times_;
};

}  // namespace swarm

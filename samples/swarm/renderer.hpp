// A frame is one command buffer on one queue, with attention, movement and drawing in it. Two frames are in flight.
#pragma once

#include <array>
#include <memory>

#include "painter.hpp"

namespace swarm {

// GPU times in milliseconds of the last finished frame; negative: not known.
struct Times {
  double frame = -1, attention = -1, learning = -1;
};

struct FrameJob {
  Frame frame{};
  CrowdStep step;
  std::span<const Box> boxes;
  bool draw = true;    // false: this frame is not displayed
  uint32_t image = 0;  // the canvas' image to draw into
  VkSemaphore wait = VK_NULL_HANDLE, signal = VK_NULL_HANDLE;
};

class Renderer {
 public:
  // Crowd documents `attention_ms`.
  Renderer(const Gpu& gpu, const Canvas& canvas, double attention_ms, const LearnOptions& learn);
  ~Renderer();
  Bindings& bindings() { return bindings_; }
  const Crowd& crowd() const { return crowd_; }

  // Moves on to the next slot, waits until its earlier frame has finished, and returns its index.
  uint32_t next_slot();
  // Records a frame into that slot and submits it.
  void render(const FrameJob& job);
  const Times& times() const { return times_; }
  // Returns a hunt's counts up to the last finished frame.
  const Counts& counts() const { return counts_; }

 private:
  struct Slot {
    Owned<VkCommandPool> pool;
    VkCommandBuffer commands = VK_NULL_HANDLE;
    Owned<VkFence> done;
    bool used = false;
    bool learned = false;  // has timestamps of learning
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
  Counts counts_{};
};

}  // namespace swarm

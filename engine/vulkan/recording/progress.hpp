// Records which passes the GPU has finished, for lost devices. Each pass fills its own word in host-visible memory, since two fills of one
// word would need a barrier between them.
#pragma once

#include "vulkan/memory/device_buffer.hpp"

namespace heed::vulkan {

class Progress {
 public:
  Status create(Context& context, size_t passes, uint32_t slots);
  bool on() const { return static_cast<bool>(words_); }

  // Call this at the start of a run.
  void begin_run(VkCommandBuffer commands, uint32_t slot) const;
  // Records a fill that waits for the dispatches before it; later dispatches do not wait for the fill.
  void end_pass(VkCommandBuffer commands, uint32_t slot, size_t pass) const;
  void end_part(VkCommandBuffer commands) const;

  // Returns -1 if there is none.
  int32_t last(uint32_t slot);

 private:
  uint64_t slot_bytes() const { return passes_ * sizeof(uint32_t); }

  Context* context_ = nullptr;
  size_t passes_ = 0;
  DeviceBuffer words_;
};

}  // namespace heed::vulkan

// Tells which passes of a recording the GPU has finished, also when the device is lost: each pass fills a word of its
// own in host-visible memory, since two fills of one word would need a barrier between them.
#pragma once

#include "vulkan/memory/device_buffer.hpp"

namespace heed::vulkan {

class Progress {
 public:
  Status create(Context& context, size_t passes, uint32_t slots);
  bool on() const { return static_cast<bool>(words_); }

  // At the start of a run.
  void begin_run(VkCommandBuffer commands, uint32_t slot) const;
  // The fill waits for the dispatches before it; those after it do not wait for the fill.
  void end_pass(VkCommandBuffer commands, uint32_t slot, size_t pass) const;
  void end_part(VkCommandBuffer commands) const;

  // -1 if none.
  int32_t last(uint32_t slot);

 private:
  uint64_t slot_bytes() const { return passes_ * sizeof(uint32_t); }

  Context* context_ = nullptr;
  size_t passes_ = 0;
  DeviceBuffer words_;
};

}  // namespace heed::vulkan

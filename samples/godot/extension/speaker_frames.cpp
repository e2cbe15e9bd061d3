#include "speaker_frames.hpp"

// The host reads the tokens that the step drew.
heed::Status SpeakerFrames::submit(const heed::TextGenerator& model) {
  const heed::vulkan::SyncNeeds needs = heed::vulkan::sync_needs(model.plan());
  commands_.barrier(needs.after_src_stages, needs.after_src_accesses, VK_PIPELINE_STAGE_HOST_BIT,
                    VK_ACCESS_HOST_READ_BIT);
  return commands_.submit();
}

heed::Status SpeakerFrames::advance(const heed::TextGenerator& model, double budget_ms, bool* has_pieces) {
  *has_pieces = false;
  heed::Status status = commands_.poll();
  if (status == heed::Status::NotReady) return heed::Status::Ok;  // the GPU is behind; this frame gets nothing more
  if (status != heed::Status::Ok) return status;
  if (is_complete_) {
    status = heed::vulkan::finish_step(model);
    *has_pieces = status == heed::Status::Ok;
    is_complete_ = false;
    return status;  // and the next step begins in the next frame, when its tokens are known
  }
  if (memory_.mapped() == nullptr && !memory_.make(heed::vulkan::text_memory_bytes(model)))
    return heed::Status::OutOfDeviceMemory;
  VkCommandBuffer commands = VK_NULL_HANDLE;
  status = commands_.begin(&commands);
  if (status != heed::Status::Ok) return status;
  heed::vulkan::TextPart part;
  const heed::vulkan::TextMemory memory = {{memory_.buffer(), 0, memory_.bytes()}, memory_.mapped()};
  status = heed::vulkan::record_step(model, commands, memory, budget_ms, &part);
  if (status != heed::Status::Ok || !part.recorded) return status;
  status = submit(model);
  is_complete_ = status == heed::Status::Ok && part.complete;
  return status;
}

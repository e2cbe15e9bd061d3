// StepFrames: steps of a model on Godot's GPU, a part in each frame, with a budget of GPU time for each.
#pragma once

#include <heed/speech_frames.hpp>
#include <heed/text_frames.hpp>

#include <memory>

#include "frame_commands.hpp"

// Model: heed::TextGenerator or heed::SpeechRecognizer. Call everything on one thread, which must not be Godot's render thread, since
// submissions wait for that thread.
template <class Model>
class StepFrames {
 public:
  explicit StepFrames(const std::shared_ptr<Gpu>& gpu) : memory_(gpu), commands_(gpu) {}

  // Call once in each frame: records and submits the next part of about so many milliseconds, if the GPU has finished the last one.
  // *has_pieces: a step has ended, and each conversation or stream in it has a piece. Returns OutOfDeviceMemory, DeviceLost, and what
  // vulkan::record_step and finish_step return.
  heed::Status advance(const Model& model, double budget_ms, bool* has_pieces) {
    *has_pieces = false;
    heed::Status status = commands_.poll();
    if (status == heed::Status::NotReady) return heed::Status::Ok;  // this frame records no more
    if (status != heed::Status::Ok) return status;
    if (is_complete_) {
      status = heed::vulkan::finish_step(model);
      *has_pieces = status == heed::Status::Ok;
      is_complete_ = false;
      return status;  // the next step begins in the next frame, when its tokens are known
    }
    if (memory_.mapped() == nullptr && !memory_.make(memory_bytes(model))) return heed::Status::OutOfDeviceMemory;
    VkCommandBuffer commands = VK_NULL_HANDLE;
    status = commands_.begin(&commands);
    if (status != heed::Status::Ok) return status;
    heed::vulkan::TextPart part;  // also for a SpeechPart
    const heed::vulkan::TextMemory memory = {{memory_.buffer(), 0, memory_.bytes()}, memory_.mapped()};
    status = heed::vulkan::record_step(model, commands, memory, budget_ms, &part);
    if (status != heed::Status::Ok || !part.recorded) return status;
    // The host reads the tokens that the step sampled.
    const heed::vulkan::SyncNeeds needs = heed::vulkan::sync_needs(plan_of(model));
    commands_.barrier(needs.after_src_stages, needs.after_src_accesses, VK_PIPELINE_STAGE_HOST_BIT,
                      VK_ACCESS_HOST_READ_BIT);
    status = commands_.submit();
    is_complete_ = status == heed::Status::Ok && part.complete;
    return status;
  }

 private:
  static uint64_t memory_bytes(const heed::TextGenerator& model) { return heed::vulkan::text_memory_bytes(model); }
  static uint64_t memory_bytes(const heed::SpeechRecognizer& model) { return heed::vulkan::speech_memory_bytes(model); }
  static const heed::Plan& plan_of(const heed::TextGenerator& model) { return model.plan(); }
  static const heed::Plan& plan_of(const heed::SpeechRecognizer& model) { return model.decoder(); }

  SharedMemory memory_;
  FrameCommands commands_;    // waits before the memory is freed
  bool is_complete_ = false;  // whether the submitted part ends a step
};

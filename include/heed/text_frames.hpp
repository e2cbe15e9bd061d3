// Steps of a language model inside a host's frames: the host records a part of a step into its own command buffer, within a budget of GPU
// time, and gets text once its fences signal that the GPU has finished.
//
//   heed::TextGenerator::open(device, ...);                              // of vulkan::adopt
//   ... in each frame:
//   heed::vulkan::TextPart part;
//   s = heed::vulkan::record_step(model, cmd, memory, 2.0, &part);       // about two milliseconds of a step
//   ... when the GPU has finished the frame whose part.complete was true:
//   s = heed::vulkan::finish_step(model);
//   for (heed::TextConversation& one : all)
//     if (one.answering()) s = one.poll(&piece);                         // gives its piece, and submits nothing
#pragma once

#include <cstddef>
#include <cstdint>

#include <heed/export.hpp>
#include <heed/text_generator.hpp>
#include <heed/vulkan_frames.hpp>

namespace heed::vulkan {

// A part of a host's buffer (VK_BUFFER_USAGE_STORAGE_BUFFER_BIT) in host-coherent memory, and its mapping. It holds a step's inputs and the
// tokens that it draws, and belongs to the model from the first part of a step to finish_step.
struct TextMemory {
  BufferRange range = {};
  std::byte* mapped = nullptr;  // address of range.offset
};
// The required bytes of TextMemory. range.offset must be a multiple of 4.
HEED_API uint64_t text_memory_bytes(const TextGenerator& model);

// The result of record_step.
struct TextPart {
  bool recorded = false;    // false: no conversation is answering, or each has a piece that poll() must return first
  bool complete = false;    // the step's last part is recorded
  double milliseconds = 0;  // heed's estimate for this part
};

// Records the next part of the current step, as record_some does, or begins a step of the conversation that has waited longest, and of
// those in its batch (TextGeneratorOptions::together). It neither submits nor waits. After the last part the host records a barrier from
// sync_needs(model.plan()).after to VK_PIPELINE_STAGE_HOST_BIT, since heed reads the tokens from the host's memory. Parts must be submitted
// to one queue in order. The device must have been adopted with a queue, since opening the model and making a State submit to it.
//
// From the first call on, only this function begins steps: poll() returns pieces and begins nothing, and step() returns InvalidArgument. If
// a conversation is cancelled or ends, the step goes on for the others; fork() returns InvalidArgument until finish_step.
//
// Errors are those of record_some, and BufferTooSmall: less memory than text_memory_bytes(). InvalidArgument, too: the step is complete and
// finish_step must come first, or a step that poll() began is running. After a failure nothing was recorded; if it was the step's first
// part, no step has begun.
HEED_API Status record_step(const TextGenerator& model, VkCommandBuffer cmd, const TextMemory& memory, double budget_ms,
                            TextPart* part);

// Call this when the GPU has finished the last part: each conversation of the step then has a piece, which poll() returns. InvalidArgument:
// no complete step is recorded. Other failures of the step are returned by poll().
HEED_API Status finish_step(const TextGenerator& model);

}  // namespace heed::vulkan

// Steps of a language model inside a host's frames: the host records a part of a step into its own command buffer, with a budget of
// GPU time, and gets text when its fences say that the GPU has finished.
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

// A part of a host's buffer (VK_BUFFER_USAGE_STORAGE_BUFFER_BIT) in host-coherent memory, and where it is mapped. It holds what a
// step is given and the tokens that it draws, and belongs to the model from the first part of a step to finish_step.
struct TextMemory {
  BufferRange range = {};
  std::byte* mapped = nullptr;  // of range.offset
};
// How many bytes that takes; range.offset is a multiple of 4.
HEED_API uint64_t text_memory_bytes(const TextGenerator& model);

// What a call of record_step has recorded.
struct TextPart {
  bool recorded = false;    // false: no conversation answers, or each has a piece that poll() is to give first
  bool complete = false;    // the step's last part is recorded
  double milliseconds = 0;  // heed's estimate for this part
};

// Records the next part of the step under way, as record_some does, or begins a step of the conversation that waits for the longest
// time, and of those that share it (TextGeneratorOptions::together). It neither submits nor waits. After the last part the
// host makes a barrier from sync_needs(model.plan()).after to its own reads, at VK_PIPELINE_STAGE_HOST_BIT, since the tokens
// are read from its memory. Parts are submitted to one queue in their order. The device was adopted with a queue: opening the
// model and making a State submit to it.
//
// From the first call on, steps come from here alone: poll() gives pieces and begins nothing, and step() returns InvalidArgument.
// A conversation that is cancelled or ends leaves the step, which goes on for the others; fork() returns InvalidArgument until
// finish_step.
//
// Errors are those of record_some, and BufferTooSmall: less memory than text_memory_bytes(). InvalidArgument, too: the step is
// complete and finish_step comes first, or one that poll() began goes on. After a failure nothing was written; if it was the
// step's first part, there is no step under way.
HEED_API Status record_step(const TextGenerator& model, VkCommandBuffer cmd, const TextMemory& memory, double budget_ms,
                            TextPart* part);

// To be called when the GPU has finished the last part: each conversation that took part has a piece, which poll() gives.
// InvalidArgument: no complete step is recorded. Other failures of the step are those that poll() returns.
HEED_API Status finish_step(const TextGenerator& model);

}  // namespace heed::vulkan

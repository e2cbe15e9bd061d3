// Steps of a speech recognizer inside a host's frames: the host records a part of a step into its own command buffer, with a budget of GPU
// time, and gets text when its fences say that the GPU has finished. A window of sound is one step, and so is each token.
//
//   heed::SpeechRecognizer::open(device, ...);                           // of vulkan::adopt
//   ... in each frame:
//   s = ear.push(microphone);
//   heed::vulkan::SpeechPart part;
//   s = heed::vulkan::record_step(model, cmd, memory, 1.0, &part);       // about a millisecond of a step
//   ... when the GPU has finished the frame whose part.complete was true:
//   s = heed::vulkan::finish_step(model);
//   s = ear.poll(&piece);                                                // gives its piece, and submits nothing
#pragma once

#include <cstdint>

#include <heed/export.hpp>
#include <heed/speech.hpp>
#include <heed/text_frames.hpp>

namespace heed::vulkan {

// As for a language model: host-coherent memory of a host's buffer, which belongs to the recognizer from the first part of a step to
// finish_step; and what a call has recorded.
using SpeechMemory = TextMemory;
using SpeechPart = TextPart;
// How many bytes that takes, more when a stream with SpeechOptions::words has begun; range.offset is a multiple of 4.
HEED_API uint64_t speech_memory_bytes(const SpeechRecognizer& model);

// Records the next part of the step under way, as record_some does, or begins a step of the stream that waits for the longest time. It
// neither submits nor waits. After the last part the host makes a barrier from sync_needs(model.decoder()).after to its own reads, at
// VK_PIPELINE_STAGE_HOST_BIT, since results are read from its memory. Parts are submitted to one queue in their order. The device was
// adopted with a queue: opening the model and beginning a stream submit to it.
//
// From the first call on, steps come from here alone: poll() gives pieces and begins nothing, and step() returns InvalidArgument. A stream
// that is cancelled or ends leaves the step, which goes on to its end.
//
// Errors are those of record_some, and BufferTooSmall: less memory than speech_memory_bytes(). InvalidArgument, too: the step is complete
// and finish_step comes first, or one that poll() began goes on. After a failure nothing was written; if it was the step's first part, there
// is no step under way.
HEED_API Status record_step(const SpeechRecognizer& model, VkCommandBuffer cmd, const SpeechMemory& memory,
                            double budget_ms, SpeechPart* part);

// To be called when the GPU has finished the last part: the stream has a piece, which poll() gives. InvalidArgument: no complete
// step is recorded. Other failures of the step are those that poll() returns.
HEED_API Status finish_step(const SpeechRecognizer& model);

}  // namespace heed::vulkan

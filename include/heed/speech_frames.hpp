// Steps of a speech recognizer inside a host's frames: the host records a part of a step into its own command buffer, within a budget of
// GPU time, and gets text once its fences signal that the GPU has finished. A window of sound is one step, and so is each token.
//
//   heed::SpeechRecognizer::open(device, ...);                           // of vulkan::adopt
//   ... in each frame:
//   s = ear.push(microphone);
//   heed::vulkan::SpeechPart part;
//   s = heed::vulkan::record_step(model, cmd, memory, 1.0, &part);       // about a millisecond of a step
//   ... when the GPU has finished the frame whose part.complete was true:
//   s = heed::vulkan::finish_step(model);
//   ... in each frame:
//   s = ear.poll(&piece);                                                // gives a step's piece, and submits nothing
#pragma once

#include <cstdint>

#include <heed/export.hpp>
#include <heed/speech.hpp>
#include <heed/text_frames.hpp>

namespace heed::vulkan {

// As for a language model: host-coherent memory in a host's buffer, which belongs to the recognizer from the first part of a step to
// finish_step; and the result of recording a part.
using SpeechMemory = TextMemory;
using SpeechPart = TextPart;
// The required bytes of SpeechMemory. They grow when a stream with SpeechOptions::words begins. range.offset must be a multiple of 4.
HEED_API uint64_t speech_memory_bytes(const SpeechRecognizer& model);

// Records the next part of the current step, as record_some does, or begins a step of the stream that has waited longest. It neither
// submits nor waits. After the last part the host records a barrier from sync_needs(model.decoder()).after to VK_PIPELINE_STAGE_HOST_BIT,
// since heed reads results from the host's memory. Parts must be submitted to one queue in order. The device must have been adopted with a
// queue, since opening the model and beginning a stream submit to it. With SpeechRecognizerOptions::timestamps the budget is filled by the
// times of earlier steps, else by estimates for a slow device.
//
// From the first call on, only this function begins steps: poll() returns pieces, computes a part of the times of words, and begins nothing;
// step() returns InvalidArgument. If
// a stream is cancelled or ends, its step still runs to its end.
//
// Errors are those of record_some, and BufferTooSmall: less memory than speech_memory_bytes(). InvalidArgument, too: the step is complete
// and finish_step must come first, or a step that poll() began is running. After a failure nothing was recorded; if it was the step's first
// part, no step has begun.
HEED_API Status record_step(const SpeechRecognizer& model, VkCommandBuffer cmd, const SpeechMemory& memory,
                            double budget_ms, SpeechPart* part);

// Call this when the GPU has finished the last part: the stream then has a piece, which poll() returns. InvalidArgument: no complete step
// is recorded. Other failures of the step are returned by poll().
HEED_API Status finish_step(const SpeechRecognizer& model);

}  // namespace heed::vulkan

// SpeakerFrames: steps of a language model on Godot's GPU, a part in each frame, with a budget of the GPU's time for each.
#pragma once

#include <heed/text_frames.hpp>

#include <memory>

#include "frame_commands.hpp"

// All of this on one thread, which is not Godot's render thread: to submit, it waits for that one.
class SpeakerFrames {
 public:
  explicit SpeakerFrames(const std::shared_ptr<Gpu>& gpu) : memory_(gpu), commands_(gpu) {}

  // Once in each frame: records and submits the next part of about so many milliseconds, if the GPU has finished the last one.
  // *has_pieces: a step has ended, and conversations that took part have a piece each. OutOfDeviceMemory, DeviceLost, and what
  // vulkan::record_step and finish_step return.
  heed::Status advance(const heed::TextGenerator& model, double budget_ms, bool* has_pieces);

 private:
  heed::Status submit(const heed::TextGenerator& model);

  SharedMemory memory_;
  FrameCommands commands_;    // waits before the memory goes
  bool is_complete_ = false;  // what was submitted ends a step
};

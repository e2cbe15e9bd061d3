// SpeakerFrames: steps of a language model on Godot's GPU, a part in each frame, with a budget of the GPU's time for each.
#pragma once

#include <heed/text_frames.hpp>

#include <memory>

#include "gpu.hpp"

// All of this on one thread, which is not Godot's render thread: to submit, it waits for that one.
class SpeakerFrames {
 public:
  explicit SpeakerFrames(std::shared_ptr<Gpu> gpu) : gpu_(std::move(gpu)) {}
  ~SpeakerFrames();
  SpeakerFrames(const SpeakerFrames&) = delete;
  SpeakerFrames& operator=(const SpeakerFrames&) = delete;

  // Once in each frame: records and submits the next part of about so many milliseconds, if the GPU has finished the last one.
  // *has_pieces: a step has ended, and conversations that took part have a piece each. OutOfDeviceMemory, DeviceLost, and what
  // vulkan::record_step and finish_step return.
  heed::Status advance(const heed::TextGenerator& model, double budget_ms, bool* has_pieces);

 private:
  heed::Status make(const heed::TextGenerator& model);
  bool make_memory(VkDeviceSize bytes);
  heed::Status submit(const heed::TextGenerator& model);

  const std::shared_ptr<Gpu> gpu_;
  VkCommandPool pool_ = VK_NULL_HANDLE;
  VkCommandBuffer commands_ = VK_NULL_HANDLE;
  VkFence fence_ = VK_NULL_HANDLE;
  VkBuffer buffer_ = VK_NULL_HANDLE;
  VkDeviceMemory memory_ = VK_NULL_HANDLE;
  heed::vulkan::TextMemory text_;
  bool is_made_ = false, is_under_way_ = false, is_complete_ = false;
};

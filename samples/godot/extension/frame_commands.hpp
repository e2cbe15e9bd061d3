// What the extension submits to Godot's queue by itself: a command buffer that is filled anew in each frame, and memory in which it and
// the host meet.
#pragma once

#include <cstddef>
#include <memory>
#include <utility>

#include "gpu.hpp"

// One command buffer, and whether the GPU has finished it. Used by one thread at a time.
class FrameCommands {
 public:
  explicit FrameCommands(std::shared_ptr<Gpu> gpu) : gpu_(std::move(gpu)) {}
  ~FrameCommands();  // waits for the GPU
  FrameCommands(const FrameCommands&) = delete;
  FrameCommands& operator=(const FrameCommands&) = delete;

  // Ok: nothing is under way. NotReady: the GPU is at it. DeviceLost.
  heed::Status poll();
  heed::Status wait();  // the same, when the GPU has finished
  // Empties the command buffer, of which nothing may be under way. What was begun and not submitted is dropped by the next call.
  heed::Status begin(VkCommandBuffer* commands);
  heed::Status submit();
  void barrier(VkPipelineStageFlags from, VkAccessFlags written, VkPipelineStageFlags to, VkAccessFlags read) const;

 private:
  heed::Status make();
  heed::Status poll_for(uint64_t nanoseconds);

  const std::shared_ptr<Gpu> gpu_;
  VkCommandPool pool_ = VK_NULL_HANDLE;
  VkCommandBuffer commands_ = VK_NULL_HANDLE;
  VkFence fence_ = VK_NULL_HANDLE;
  bool is_under_way_ = false;
};

// A storage buffer that the host sees, too.
class SharedMemory {
 public:
  explicit SharedMemory(std::shared_ptr<Gpu> gpu) : gpu_(std::move(gpu)) {}
  ~SharedMemory() { release(); }
  SharedMemory(const SharedMemory&) = delete;
  SharedMemory& operator=(const SharedMemory&) = delete;

  // In place of what was there before, which the GPU must have finished. False: there is no such memory.
  bool make(VkDeviceSize bytes);
  VkBuffer buffer() const { return buffer_; }
  std::byte* mapped() const { return mapped_; }
  VkDeviceSize bytes() const { return bytes_; }

 private:
  void release();

  const std::shared_ptr<Gpu> gpu_;
  VkBuffer buffer_ = VK_NULL_HANDLE;
  VkDeviceMemory memory_ = VK_NULL_HANDLE;
  std::byte* mapped_ = nullptr;
  VkDeviceSize bytes_ = 0;
};

// The extension's own submissions to Godot's queue: a command buffer that is recorded again in each frame, and memory that it shares with
// the host.
#pragma once

#include <cstddef>
#include <memory>
#include <utility>

#include "gpu.hpp"

// One command buffer, and whether the GPU has finished it. One thread at a time may use it.
class FrameCommands {
 public:
  explicit FrameCommands(std::shared_ptr<Gpu> gpu) : gpu_(std::move(gpu)) {}
  ~FrameCommands();  // waits for the GPU
  FrameCommands(const FrameCommands&) = delete;
  FrameCommands& operator=(const FrameCommands&) = delete;

  // Ok: nothing is pending. NotReady: the GPU is working on it. DeviceLost.
  heed::Status poll();
  heed::Status wait();  // the same, once the GPU has finished
  // Empties the command buffer, which must not be pending. The next call drops commands that were not submitted.
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

// A storage buffer that the host can access.
class SharedMemory {
 public:
  explicit SharedMemory(std::shared_ptr<Gpu> gpu) : gpu_(std::move(gpu)) {}
  ~SharedMemory() { release(); }
  SharedMemory(const SharedMemory&) = delete;
  SharedMemory& operator=(const SharedMemory&) = delete;

  // Replaces the memory, which the GPU must have finished using. Returns false if there is not enough.
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

// Device buffers for a plan's inputs and outputs, and copies between them and host memory, for Plan::run.
#pragma once

#include <span>
#include <vector>

#include "vulkan/context/submission.hpp"
#include "vulkan/memory/device_buffer.hpp"

namespace heed::vulkan {

class HostIo {
 public:
  // largest[i] is the bytes of host tensor i at the extents' maxima. The first `inputs` tensors are inputs.
  Status create(Context& context, std::span<const uint64_t> largest, size_t inputs);

  VkBuffer buffer() const { return device_.handle(); }
  uint64_t offset(size_t index) const { return offsets_[index]; }
  Submission& submission() { return submission_; }

  // Host memory of tensor i: in staging memory, or in the device buffer itself if both are one.
  std::byte* host(size_t index) { return mapped().mapped() + offsets_[index]; }
  Status flush() { return mapped().flush(); }
  Status invalidate() { return mapped().invalidate(); }

  // Record copies before and after the plan's passes; bytes[i] is the size of tensor i in this run.
  void record_inputs(VkCommandBuffer commands, std::span<const uint64_t> bytes);
  void record_outputs(VkCommandBuffer commands, std::span<const uint64_t> bytes);

 private:
  DeviceBuffer& mapped() { return shared_ ? device_ : staging_; }
  void copy(VkCommandBuffer commands, std::span<const uint64_t> bytes, size_t begin, size_t end, bool to_device);

  Context* context_ = nullptr;
  bool shared_ = false;  // host and GPU use the same memory: no copies
  size_t inputs_ = 0;
  std::vector<uint64_t> offsets_;
  DeviceBuffer device_, staging_;
  Submission submission_;
};

}  // namespace heed::vulkan

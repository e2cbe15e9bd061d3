// Weights on a Vulkan device: one buffer that holds every tensor of one upload.
#pragma once

#include <memory>
#include <span>

#include "graph/backend.hpp"
#include "vulkan/device_buffer.hpp"

namespace heed::vulkan {

class VulkanWeights final : public detail::WeightsImpl {
 public:
  VulkanWeights(std::shared_ptr<const detail::DeviceImpl> owner, Context& context)
      : owner_(std::move(owner)), context_(context) {}

  uint64_t bytes() const override { return buffer_.bytes(); }
  const detail::DeviceImpl* device() const override { return owner_.get(); }

  // Places, converts and copies, in pieces of at most kStagingBytes; waits until all is on the device.
  Status upload(std::span<const HostTensor> tensors, const UploadOptions& options, uint64_t alignment);

  VkBuffer buffer() const { return buffer_.handle(); }

 private:
  std::shared_ptr<const detail::DeviceImpl> owner_;  // outlives buffer_
  Context& context_;
  DeviceBuffer buffer_;
};

}  // namespace heed::vulkan

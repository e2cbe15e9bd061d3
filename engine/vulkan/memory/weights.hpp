// Weights on a Vulkan device: one buffer, heed's or the host's, with all tensors of one upload.
#pragma once

#include <heed/vulkan_memory.hpp>
#include <memory>
#include <span>
#include <vector>

#include "graph/schedule/backend.hpp"
#include "vulkan/memory/device_buffer.hpp"

namespace heed::vulkan {

constexpr VkBufferUsageFlags kWeightsUsage = VK_BUFFER_USAGE_STORAGE_BUFFER_BIT | VK_BUFFER_USAGE_TRANSFER_DST_BIT;

class VulkanWeights final : public detail::WeightsImpl {
 public:
  VulkanWeights(std::shared_ptr<const detail::DeviceImpl> owner, Context& context)
      : owner_(std::move(owner)), context_(context) {}

  uint64_t bytes() const override { return bytes_; }
  const detail::DeviceImpl* device() const override { return owner_.get(); }

  // Assigns offsets, converts and copies, in pieces of at most kStagingBytes; waits until all is on the device.
  Status upload(std::span<const HostTensor> tensors, const UploadOptions& options);
  // The same into the host's buffer.
  Status upload_to(const WeightTarget& target, std::span<const HostTensor> tensors, const UploadOptions& options);

  // The buffer and range to which entries' offsets are relative.
  VkBuffer buffer() const { return range_.buffer; }
  VkDeviceSize offset() const { return range_.offset; }

 private:
  Status place(std::span<const HostTensor> tensors, const UploadOptions& options);
  Status copy(std::span<const HostTensor> tensors, const UploadOptions& options);
  void write(std::span<const HostTensor> tensors, const UploadOptions& options, std::byte* to) const;

  std::shared_ptr<const detail::DeviceImpl> owner_;  // outlives buffer_
  Context& context_;
  DeviceBuffer buffer_;
  BufferRange range_;          // within buffer_ or the host's buffer
  std::vector<size_t> order_;  // entry -> source tensor
  uint64_t bytes_ = 0;
};

}  // namespace heed::vulkan

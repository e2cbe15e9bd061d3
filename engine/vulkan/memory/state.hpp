// A State on a Vulkan device: one buffer, or a range of the host's, with all tensors.
#pragma once

#include <atomic>

#include <heed/vulkan_memory.hpp>
#include <memory>
#include <span>

#include "graph/schedule/backend.hpp"
#include "vulkan/memory/device_buffer.hpp"

namespace heed::vulkan {

class VulkanState final : public detail::StateImpl {
 public:
  VulkanState(std::shared_ptr<const detail::StateLayout> tensors, std::shared_ptr<const detail::DeviceImpl> owner,
              Context& context)
      : StateImpl(std::move(tensors)), owner_(std::move(owner)), context_(context) {}

  // allocate makes a buffer, which is zeroed if there is a queue; use takes a range of the host's, whose contents stay.
  Status allocate();
  Status use(const BufferRange& range);
  const BufferRange& range() const { return range_; }

  detail::Backend backend() const override { return detail::Backend::Vulkan; }
  const void* home() const override { return &context_; }
  const Log& log() const override { return context_.log; }
  Status clear() override;
  Status copy(const detail::StateImpl& from) override;
  Status copy(const detail::StateImpl& from, std::span<const detail::StateRange> from_ranges,
              std::span<const detail::StateRange> to_ranges) override;
  Status read(std::span<const detail::StateRange> ranges, std::byte* to) override;
  Status write(std::span<const detail::StateRange> ranges, const std::byte* from) override;

  Status alive(const char* call) const { return context_.alive(call); }
  // InvalidArgument if both States lie in one buffer of the host's and overlap, unless they are the same range.
  Status check_apart(const VulkanState& from, const char* call) const;
  void record_clear(VkCommandBuffer commands);
  void record_copy(VkCommandBuffer commands, const VulkanState& from);

  // The last run that used the State; 0: the State was written otherwise since.
  std::atomic<uint64_t> run{0};

 private:
  template <class Record>
  Status submit(const char* call, const Record& record);

  std::shared_ptr<const detail::DeviceImpl> owner_;  // outlives buffer_
  Context& context_;
  DeviceBuffer buffer_;
  BufferRange range_;  // within buffer_ or the host's buffer
};

constexpr VkBufferUsageFlags kStateUsage =
    VK_BUFFER_USAGE_STORAGE_BUFFER_BIT | VK_BUFFER_USAGE_TRANSFER_SRC_BIT | VK_BUFFER_USAGE_TRANSFER_DST_BIT;

}  // namespace heed::vulkan

#include "vulkan/memory/host_io.hpp"

#include "base/arith.hpp"
#include "vulkan/calls/barrier.hpp"

namespace heed::vulkan {
Status HostIo::create(Context& context, std::span<const uint64_t> largest, size_t inputs) {
  context_ = &context;
  inputs_ = inputs;
  Status status = submission_.create(context, "run");
  if (status != Status::Ok) return status;
  const uint64_t alignment = context.buffer_alignment();
  uint64_t bytes = 0;
  for (uint64_t tensor : largest) {
    offsets_.push_back(bytes);
    bytes += align_up(tensor, alignment);
  }
  bytes = std::max(bytes, alignment);  // a plan of states may have neither inputs nor outputs
  shared_ = has_shared_memory(context.physical.memory, context.physical.properties.deviceType);
  status = device_.create(
      context, "run inputs and outputs", bytes,
      VK_BUFFER_USAGE_STORAGE_BUFFER_BIT | VK_BUFFER_USAGE_TRANSFER_SRC_BIT | VK_BUFFER_USAGE_TRANSFER_DST_BIT,
      shared_ ? MemoryUse::Shared : MemoryUse::Device);
  if (status != Status::Ok || shared_) return status;
  return staging_.create(context, "run staging", bytes,
                         VK_BUFFER_USAGE_TRANSFER_SRC_BIT | VK_BUFFER_USAGE_TRANSFER_DST_BIT, MemoryUse::Staging);
}

void HostIo::copy(VkCommandBuffer commands, std::span<const uint64_t> bytes, size_t begin, size_t end, bool to_device) {
  for (size_t i = begin; i < end; ++i) {
    const VkBufferCopy region = {offsets_[i], offsets_[i], bytes[i]};
    const VkBuffer from = to_device ? staging_.handle() : device_.handle();
    const VkBuffer to = to_device ? device_.handle() : staging_.handle();
    context_->vk.CmdCopyBuffer(commands, from, to, 1, &region);
  }
}

void HostIo::record_inputs(VkCommandBuffer commands, std::span<const uint64_t> bytes) {
  if (shared_ || inputs_ == 0) return;  // a submission makes host writes visible
  copy(commands, bytes, 0, inputs_, true);
  memory_barrier(context_->vk, commands, {VK_PIPELINE_STAGE_TRANSFER_BIT, VK_ACCESS_TRANSFER_WRITE_BIT},
                 {VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT, VK_ACCESS_SHADER_READ_BIT});
}

void HostIo::record_outputs(VkCommandBuffer commands, std::span<const uint64_t> bytes) {
  if (shared_) {
    memory_barrier(context_->vk, commands, {VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT, VK_ACCESS_SHADER_WRITE_BIT},
                   {VK_PIPELINE_STAGE_HOST_BIT, VK_ACCESS_HOST_READ_BIT});
    return;
  }
  memory_barrier(context_->vk, commands, {VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT, VK_ACCESS_SHADER_WRITE_BIT},
                 {VK_PIPELINE_STAGE_TRANSFER_BIT, VK_ACCESS_TRANSFER_READ_BIT});
  copy(commands, bytes, inputs_, bytes.size(), false);
  memory_barrier(context_->vk, commands, {VK_PIPELINE_STAGE_TRANSFER_BIT, VK_ACCESS_TRANSFER_WRITE_BIT},
                 {VK_PIPELINE_STAGE_HOST_BIT, VK_ACCESS_HOST_READ_BIT});
}

}  // namespace heed::vulkan

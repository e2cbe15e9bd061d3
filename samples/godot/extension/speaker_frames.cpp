#include "speaker_frames.hpp"

#include <cstdint>

SpeakerFrames::~SpeakerFrames() {
  if (!gpu_->is_alive()) return;
  const VulkanCalls& vk = gpu_->calls();
  const VkDevice device = gpu_->host().device;
  if (is_under_way_) (void)vk.WaitForFences(device, 1, &fence_, VK_TRUE, UINT64_MAX);
  if (fence_ != VK_NULL_HANDLE) vk.DestroyFence(device, fence_, nullptr);
  if (pool_ != VK_NULL_HANDLE) vk.DestroyCommandPool(device, pool_, nullptr);
  if (buffer_ != VK_NULL_HANDLE) vk.DestroyBuffer(device, buffer_, nullptr);
  if (memory_ != VK_NULL_HANDLE) vk.FreeMemory(device, memory_, nullptr);
}

bool SpeakerFrames::make_memory(VkDeviceSize bytes) {
  const VulkanCalls& vk = gpu_->calls();
  const VkDevice device = gpu_->host().device;
  VkBufferCreateInfo buffer{};
  buffer.sType = VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO;
  buffer.size = bytes;
  buffer.usage = VK_BUFFER_USAGE_STORAGE_BUFFER_BIT;
  if (vk.CreateBuffer(device, &buffer, nullptr, &buffer_) != VK_SUCCESS) return false;
  VkMemoryRequirements needs{};
  vk.GetBufferMemoryRequirements(device, buffer_, &needs);
  VkPhysicalDeviceMemoryProperties memory{};
  vk.GetPhysicalDeviceMemoryProperties(gpu_->host().physical_device, &memory);
  // Vulkan promises a type that is both for every buffer.
  constexpr VkMemoryPropertyFlags kWanted = VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT | VK_MEMORY_PROPERTY_HOST_COHERENT_BIT;
  uint32_t type = 0;
  while (type < memory.memoryTypeCount &&
         ((needs.memoryTypeBits >> type & 1) == 0 || (memory.memoryTypes[type].propertyFlags & kWanted) != kWanted))
    ++type;
  VkMemoryAllocateInfo allocate{};
  allocate.sType = VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_INFO;
  allocate.allocationSize = needs.size;
  allocate.memoryTypeIndex = type;
  void* mapped = nullptr;
  if (type == memory.memoryTypeCount || vk.AllocateMemory(device, &allocate, nullptr, &memory_) != VK_SUCCESS ||
      vk.BindBufferMemory(device, buffer_, memory_, 0) != VK_SUCCESS ||
      vk.MapMemory(device, memory_, 0, VK_WHOLE_SIZE, 0, &mapped) != VK_SUCCESS)
    return false;
  text_ = {{buffer_, 0, bytes}, static_cast<std::byte*>(mapped)};
  return true;
}

heed::Status SpeakerFrames::make(const heed::TextGenerator& model) {
  const VulkanCalls& vk = gpu_->calls();
  const VkDevice device = gpu_->host().device;
  VkCommandPoolCreateInfo pool{};
  pool.sType = VK_STRUCTURE_TYPE_COMMAND_POOL_CREATE_INFO;
  pool.queueFamilyIndex = gpu_->host().queue_family;
  VkCommandBufferAllocateInfo commands{};
  commands.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO;
  commands.level = VK_COMMAND_BUFFER_LEVEL_PRIMARY;
  commands.commandBufferCount = 1;
  VkFenceCreateInfo fence{};
  fence.sType = VK_STRUCTURE_TYPE_FENCE_CREATE_INFO;
  if (vk.CreateCommandPool(device, &pool, nullptr, &pool_) != VK_SUCCESS) return heed::Status::OutOfDeviceMemory;
  commands.commandPool = pool_;
  is_made_ = vk.AllocateCommandBuffers(device, &commands, &commands_) == VK_SUCCESS &&
             vk.CreateFence(device, &fence, nullptr, &fence_) == VK_SUCCESS &&
             make_memory(heed::vulkan::text_memory_bytes(model));
  return is_made_ ? heed::Status::Ok : heed::Status::OutOfDeviceMemory;
}

// The host reads the tokens that the step drew.
heed::Status SpeakerFrames::submit(const heed::TextGenerator& model) {
  const VulkanCalls& vk = gpu_->calls();
  const heed::vulkan::SyncNeeds needs = heed::vulkan::sync_needs(model.plan());
  VkMemoryBarrier barrier{};
  barrier.sType = VK_STRUCTURE_TYPE_MEMORY_BARRIER;
  barrier.srcAccessMask = needs.after_src_accesses;
  barrier.dstAccessMask = VK_ACCESS_HOST_READ_BIT;
  vk.CmdPipelineBarrier(commands_, needs.after_src_stages, VK_PIPELINE_STAGE_HOST_BIT, 0, 1, &barrier, 0, nullptr, 0,
                        nullptr);
  VkSubmitInfo info{};
  info.sType = VK_STRUCTURE_TYPE_SUBMIT_INFO;
  info.commandBufferCount = 1;
  info.pCommandBuffers = &commands_;
  if (vk.EndCommandBuffer(commands_) != VK_SUCCESS || vk.ResetFences(gpu_->host().device, 1, &fence_) != VK_SUCCESS)
    return heed::Status::OutOfDeviceMemory;
  return gpu_->submit(info, fence_) == VK_SUCCESS ? heed::Status::Ok : heed::Status::DeviceLost;
}

heed::Status SpeakerFrames::advance(const heed::TextGenerator& model, double budget_ms, bool* has_pieces) {
  *has_pieces = false;
  if (!gpu_->is_alive()) return heed::Status::DeviceLost;
  heed::Status status = is_made_ ? heed::Status::Ok : make(model);
  if (status != heed::Status::Ok) return status;
  const VulkanCalls& vk = gpu_->calls();
  if (is_under_way_) {
    const VkResult waited = vk.WaitForFences(gpu_->host().device, 1, &fence_, VK_TRUE, 0);
    if (waited == VK_TIMEOUT) return heed::Status::Ok;  // the GPU is behind; this frame gets nothing more
    is_under_way_ = false;
    if (waited != VK_SUCCESS) return heed::Status::DeviceLost;
    if (is_complete_) {
      status = heed::vulkan::finish_step(model);
      *has_pieces = status == heed::Status::Ok;
      is_complete_ = false;
      return status;  // and the next step begins in the next frame, when its tokens are known
    }
  }
  VkCommandBufferBeginInfo begin{};
  begin.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO;
  begin.flags = VK_COMMAND_BUFFER_USAGE_ONE_TIME_SUBMIT_BIT;
  if (vk.ResetCommandPool(gpu_->host().device, pool_, 0) != VK_SUCCESS ||
      vk.BeginCommandBuffer(commands_, &begin) != VK_SUCCESS)
    return heed::Status::OutOfDeviceMemory;
  heed::vulkan::TextPart part;
  status = heed::vulkan::record_step(model, commands_, text_, budget_ms, &part);
  if (status != heed::Status::Ok || !part.recorded) return status;
  status = submit(model);
  is_under_way_ = status == heed::Status::Ok;
  is_complete_ = part.complete;
  return status;
}

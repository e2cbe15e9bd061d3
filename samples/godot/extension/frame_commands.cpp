#include "frame_commands.hpp"

#include <cstdint>

FrameCommands::~FrameCommands() {
  if (!gpu_->is_alive()) return;
  (void)wait();
  const VulkanCalls& vk = gpu_->calls();
  const VkDevice device = gpu_->host().device;
  if (fence_ != VK_NULL_HANDLE) vk.DestroyFence(device, fence_, nullptr);
  if (pool_ != VK_NULL_HANDLE) vk.DestroyCommandPool(device, pool_, nullptr);
}

heed::Status FrameCommands::make() {
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
  if (pool_ == VK_NULL_HANDLE && vk.CreateCommandPool(device, &pool, nullptr, &pool_) != VK_SUCCESS)
    return heed::Status::OutOfDeviceMemory;
  commands.commandPool = pool_;
  const bool is_made =
      (commands_ != VK_NULL_HANDLE || vk.AllocateCommandBuffers(device, &commands, &commands_) == VK_SUCCESS) &&
      (fence_ != VK_NULL_HANDLE || vk.CreateFence(device, &fence, nullptr, &fence_) == VK_SUCCESS);
  return is_made ? heed::Status::Ok : heed::Status::OutOfDeviceMemory;
}

heed::Status FrameCommands::poll_for(uint64_t nanoseconds) {
  if (!gpu_->is_alive()) return heed::Status::DeviceLost;
  if (!is_under_way_) return heed::Status::Ok;
  const VkResult waited = gpu_->calls().WaitForFences(gpu_->host().device, 1, &fence_, VK_TRUE, nanoseconds);
  if (waited == VK_TIMEOUT) return heed::Status::NotReady;
  is_under_way_ = false;
  return waited == VK_SUCCESS ? heed::Status::Ok : heed::Status::DeviceLost;
}

heed::Status FrameCommands::poll() { return poll_for(0); }
heed::Status FrameCommands::wait() { return poll_for(UINT64_MAX); }

heed::Status FrameCommands::begin(VkCommandBuffer* commands) {
  const heed::Status status = make();
  if (status != heed::Status::Ok) return status;
  const VulkanCalls& vk = gpu_->calls();
  VkCommandBufferBeginInfo begin{};
  begin.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO;
  begin.flags = VK_COMMAND_BUFFER_USAGE_ONE_TIME_SUBMIT_BIT;
  if (vk.ResetCommandPool(gpu_->host().device, pool_, 0) != VK_SUCCESS ||
      vk.BeginCommandBuffer(commands_, &begin) != VK_SUCCESS)
    return heed::Status::OutOfDeviceMemory;
  *commands = commands_;
  return heed::Status::Ok;
}

void FrameCommands::barrier(VkPipelineStageFlags from, VkAccessFlags written, VkPipelineStageFlags to,
                            VkAccessFlags read) const {
  VkMemoryBarrier memory{};
  memory.sType = VK_STRUCTURE_TYPE_MEMORY_BARRIER;
  memory.srcAccessMask = written;
  memory.dstAccessMask = read;
  gpu_->calls().CmdPipelineBarrier(commands_, from, to, 0, 1, &memory, 0, nullptr, 0, nullptr);
}

heed::Status FrameCommands::submit() {
  const VulkanCalls& vk = gpu_->calls();
  VkSubmitInfo info{};
  info.sType = VK_STRUCTURE_TYPE_SUBMIT_INFO;
  info.commandBufferCount = 1;
  info.pCommandBuffers = &commands_;
  if (vk.EndCommandBuffer(commands_) != VK_SUCCESS || vk.ResetFences(gpu_->host().device, 1, &fence_) != VK_SUCCESS)
    return heed::Status::OutOfDeviceMemory;
  is_under_way_ = gpu_->submit(info, fence_) == VK_SUCCESS;
  return is_under_way_ ? heed::Status::Ok : heed::Status::DeviceLost;
}

void SharedMemory::release() {
  if (!gpu_->is_alive()) return;
  if (buffer_ != VK_NULL_HANDLE) gpu_->calls().DestroyBuffer(gpu_->host().device, buffer_, nullptr);
  if (memory_ != VK_NULL_HANDLE) gpu_->calls().FreeMemory(gpu_->host().device, memory_, nullptr);
  buffer_ = VK_NULL_HANDLE;
  memory_ = VK_NULL_HANDLE;
  mapped_ = nullptr;
  bytes_ = 0;
}

bool SharedMemory::make(VkDeviceSize bytes) {
  release();
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
  // Vulkan guarantees a memory type with both properties for every buffer.
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
  mapped_ = static_cast<std::byte*>(mapped);
  bytes_ = bytes;
  return true;
}

#include "resources.hpp"

namespace swarm {
namespace {

uint32_t memory_type(const Gpu& gpu, uint32_t allowed, VkMemoryPropertyFlags wanted) {
  for (uint32_t i = 0; i < gpu.memory.memoryTypeCount; ++i)
    if ((allowed >> i & 1u) != 0 && (gpu.memory.memoryTypes[i].propertyFlags & wanted) == wanted) return i;
  throw Failure("the device lacks a memory type that swarm needs");
}

Owned<VkDeviceMemory> allocate(const Gpu& gpu, const VkMemoryRequirements& needs, VkMemoryPropertyFlags wanted) {
  auto info = structure<VkMemoryAllocateInfo>(VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_INFO);
  info.allocationSize = needs.size;
  info.memoryTypeIndex = memory_type(gpu, needs.memoryTypeBits, wanted);
  VkDeviceMemory memory;
  check(vkAllocateMemory(gpu.device, &info, nullptr, &memory), "vkAllocateMemory");
  return {gpu.device, memory, vkFreeMemory};
}

}  // namespace

Buffer make_buffer(const Gpu& gpu, VkDeviceSize bytes, VkBufferUsageFlags usage, Where where) {
  auto info = structure<VkBufferCreateInfo>(VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO);
  info.size = bytes;
  info.usage = usage;
  VkBuffer handle;
  check(vkCreateBuffer(gpu.device, &info, nullptr, &handle), "vkCreateBuffer");
  Buffer buffer;
  buffer.handle = {gpu.device, handle, vkDestroyBuffer};
  buffer.bytes = bytes;
  VkMemoryRequirements needs;
  vkGetBufferMemoryRequirements(gpu.device, handle, &needs);
  buffer.memory =
      allocate(gpu, needs,
               where == Where::Device ? VkMemoryPropertyFlags{VK_MEMORY_PROPERTY_DEVICE_LOCAL_BIT}
                                      : VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT | VK_MEMORY_PROPERTY_HOST_COHERENT_BIT);
  check(vkBindBufferMemory(gpu.device, handle, buffer.memory, 0), "vkBindBufferMemory");
  if (where == Where::Host)
    check(vkMapMemory(gpu.device, buffer.memory, 0, VK_WHOLE_SIZE, 0, &buffer.mapped), "vkMapMemory");
  return buffer;
}

Image make_image(const Gpu& gpu, const ImageInfo& what) {
  auto info = structure<VkImageCreateInfo>(VK_STRUCTURE_TYPE_IMAGE_CREATE_INFO);
  info.imageType = VK_IMAGE_TYPE_2D;
  info.format = what.format;
  info.extent = {what.size.width, what.size.height, 1};
  info.mipLevels = info.arrayLayers = 1;
  info.samples = what.samples;
  info.tiling = VK_IMAGE_TILING_OPTIMAL;
  info.usage = what.usage;
  VkImage handle;
  check(vkCreateImage(gpu.device, &info, nullptr, &handle), "vkCreateImage");
  Image image;
  image.handle = {gpu.device, handle, vkDestroyImage};
  VkMemoryRequirements needs;
  vkGetImageMemoryRequirements(gpu.device, handle, &needs);
  image.memory = allocate(gpu, needs, VK_MEMORY_PROPERTY_DEVICE_LOCAL_BIT);
  check(vkBindImageMemory(gpu.device, handle, image.memory, 0), "vkBindImageMemory");
  image.view = make_view(gpu, handle, what.format, what.aspect);
  return image;
}

Owned<VkImageView> make_view(const Gpu& gpu, VkImage image, VkFormat format, VkImageAspectFlags aspect) {
  auto info = structure<VkImageViewCreateInfo>(VK_STRUCTURE_TYPE_IMAGE_VIEW_CREATE_INFO);
  info.image = image;
  info.viewType = VK_IMAGE_VIEW_TYPE_2D;
  info.format = format;
  info.subresourceRange = {aspect, 0, 1, 0, 1};
  VkImageView view;
  check(vkCreateImageView(gpu.device, &info, nullptr, &view), "vkCreateImageView");
  return {gpu.device, view, vkDestroyImageView};
}

void run_now(const Gpu& gpu, const std::function<void(VkCommandBuffer)>& record) {
  auto pool_info = structure<VkCommandPoolCreateInfo>(VK_STRUCTURE_TYPE_COMMAND_POOL_CREATE_INFO);
  pool_info.queueFamilyIndex = gpu.family;
  VkCommandPool handle;
  check(vkCreateCommandPool(gpu.device, &pool_info, nullptr, &handle), "vkCreateCommandPool");
  const Owned<VkCommandPool> pool(gpu.device, handle, vkDestroyCommandPool);
  auto info = structure<VkCommandBufferAllocateInfo>(VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO);
  info.commandPool = pool;
  info.commandBufferCount = 1;
  VkCommandBuffer commands;
  check(vkAllocateCommandBuffers(gpu.device, &info, &commands), "vkAllocateCommandBuffers");
  auto begin = structure<VkCommandBufferBeginInfo>(VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO);
  begin.flags = VK_COMMAND_BUFFER_USAGE_ONE_TIME_SUBMIT_BIT;
  check(vkBeginCommandBuffer(commands, &begin), "vkBeginCommandBuffer");
  record(commands);
  check(vkEndCommandBuffer(commands), "vkEndCommandBuffer");
  auto submit = structure<VkSubmitInfo>(VK_STRUCTURE_TYPE_SUBMIT_INFO);
  submit.commandBufferCount = 1;
  submit.pCommandBuffers = &commands;
  check(vkQueueSubmit(gpu.queue, 1, &submit, VK_NULL_HANDLE), "vkQueueSubmit");
  check(vkQueueWaitIdle(gpu.queue), "vkQueueWaitIdle");
}

}  // namespace swarm

#include "vulkan/memory/device_buffer.hpp"

#include "base/logging.hpp"

namespace heed::vulkan {

Status DeviceBuffer::create(Context& context, const char* what, uint64_t bytes, VkBufferUsageFlags usage,
                            MemoryUse use) {
  destroy();
  context_ = &context;
  const uint64_t largest = context.physical.memory_limits.maxMemoryAllocationSize;
  if (bytes > largest)
    return fail(context.log, Status::OutOfDeviceMemory,
                format("%s needs %llu bytes; the driver's largest allocation is %llu", what,
                       static_cast<unsigned long long>(bytes), static_cast<unsigned long long>(largest)));
  auto info = structure<VkBufferCreateInfo>(VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO);
  info.size = bytes_ = bytes;
  info.usage = usage;
  Status status =
      context.check("vkCreateBuffer", context.vk.CreateBuffer(context.device, &info, context.allocator, &buffer_));
  if (status == Status::Ok) status = memory_.allocate(context, what, buffer_, use);
  if (status == Status::Ok)
    status = context.check("vkBindBufferMemory",
                           context.vk.BindBufferMemory(context.device, buffer_, memory_.handle(), memory_.offset()));
  if (status != Status::Ok)
    destroy();
  else
    context.name(VK_OBJECT_TYPE_BUFFER, buffer_, what);
  return status;
}

void DeviceBuffer::destroy() {
  if (context_ == nullptr || context_->hung) return;
  if (buffer_ != VK_NULL_HANDLE) context_->vk.DestroyBuffer(context_->device, buffer_, context_->allocator);
  memory_.free();
  buffer_ = VK_NULL_HANDLE;
  bytes_ = 0;
}

}  // namespace heed::vulkan

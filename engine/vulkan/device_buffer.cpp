#include "vulkan/device_buffer.hpp"

#include "base/logging.hpp"
#include "vulkan/names.hpp"

namespace heed::vulkan {

Status DeviceBuffer::create(Context& context, const char* what, uint64_t bytes, VkBufferUsageFlags usage,
                            MemoryUse use) {
  destroy();
  context_ = &context;
  what_ = what;
  bytes_ = bytes;
  const uint64_t largest = context.physical.memory_limits.maxMemoryAllocationSize;
  if (bytes > largest)
    return fail(context.log, Status::OutOfDeviceMemory,
                format("%s needs %llu bytes; the driver's largest allocation is %llu", what,
                       static_cast<unsigned long long>(bytes), static_cast<unsigned long long>(largest)));
  auto info = structure<VkBufferCreateInfo>(VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO);
  info.size = bytes;
  info.usage = usage;
  Status status = context.check("vkCreateBuffer",
                                context.vk.CreateBuffer(context.device, &info, context.allocator, &buffer_));
  if (status == Status::Ok) {
    VkMemoryRequirements needs = {};
    context.vk.GetBufferMemoryRequirements(context.device, buffer_, &needs);
    status = allocate(needs, use);
  }
  if (status == Status::Ok)
    status =
        context.check("vkBindBufferMemory", context.vk.BindBufferMemory(context.device, buffer_, memory_, 0));
  if (status == Status::Ok && use != MemoryUse::Device) {
    void* address = nullptr;
    status = context.check("vkMapMemory",
                           context.vk.MapMemory(context.device, memory_, 0, VK_WHOLE_SIZE, 0, &address));
    mapped_ = static_cast<std::byte*>(address);
  }
  if (status != Status::Ok)
    destroy();
  else
    context.name(VK_OBJECT_TYPE_BUFFER, buffer_, what);
  return status;
}

Status DeviceBuffer::allocate(const VkMemoryRequirements& needs, MemoryUse use) {
  const VkPhysicalDeviceMemoryProperties& memory = context_->physical.memory;
  const MemoryTypeOrder order = order_memory_types(memory, needs.memoryTypeBits, use, needs.size);
  VkResult result = VK_ERROR_OUT_OF_DEVICE_MEMORY;
  for (uint32_t i = 0; i < order.count; ++i) {
    auto info = structure<VkMemoryAllocateInfo>(VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_INFO);
    info.allocationSize = needs.size;
    info.memoryTypeIndex = order.types[i];
    result = context_->vk.AllocateMemory(context_->device, &info, context_->allocator, &memory_);
    if (result != VK_SUCCESS) {
      memory_ = VK_NULL_HANDLE;
      continue;  // a full heap leaves the others
    }
    coherent_ =
        (memory.memoryTypes[order.types[i]].propertyFlags & VK_MEMORY_PROPERTY_HOST_COHERENT_BIT) != 0;
    return Status::Ok;
  }
  return context_->check(
      format("vkAllocateMemory of %llu bytes for %s", static_cast<unsigned long long>(needs.size), what_)
          .c_str(),
      result);
}

void DeviceBuffer::destroy() {
  if (context_ == nullptr) return;
  // Freeing unmaps.
  if (buffer_ != VK_NULL_HANDLE) context_->vk.DestroyBuffer(context_->device, buffer_, context_->allocator);
  if (memory_ != VK_NULL_HANDLE) context_->vk.FreeMemory(context_->device, memory_, context_->allocator);
  buffer_ = VK_NULL_HANDLE;
  memory_ = VK_NULL_HANDLE;
  mapped_ = nullptr;
  bytes_ = 0;
}

namespace {

VkMappedMemoryRange whole(VkDeviceMemory memory) {
  auto range = structure<VkMappedMemoryRange>(VK_STRUCTURE_TYPE_MAPPED_MEMORY_RANGE);
  range.memory = memory;
  range.size = VK_WHOLE_SIZE;  // any part would have to be rounded to nonCoherentAtomSize
  return range;
}

}  // namespace

Status DeviceBuffer::flush() {
  if (coherent_) return Status::Ok;
  const VkMappedMemoryRange range = whole(memory_);
  return context_->check("vkFlushMappedMemoryRanges",
                         context_->vk.FlushMappedMemoryRanges(context_->device, 1, &range));
}

Status DeviceBuffer::invalidate() {
  if (coherent_) return Status::Ok;
  const VkMappedMemoryRange range = whole(memory_);
  return context_->check("vkInvalidateMappedMemoryRanges",
                         context_->vk.InvalidateMappedMemoryRanges(context_->device, 1, &range));
}

}  // namespace heed::vulkan

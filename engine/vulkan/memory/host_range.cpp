#include "vulkan/memory/host_range.hpp"

#include <algorithm>

#include "base/logging.hpp"
#include "vulkan/memory/memory_types.hpp"

namespace heed::vulkan {

using ull = unsigned long long;

Status needs_of(Context& context, uint64_t bytes, VkBufferUsageFlags usage, uint64_t alignment, BufferNeeds* needs) {
  *needs = {};
  if (bytes == 0) return Status::Ok;
  Status status = context.there("a question for memory");
  if (status != Status::Ok) return status;
  // Memory types depend only on the usage, so a small buffer without memory is enough to query them.
  auto info = structure<VkBufferCreateInfo>(VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO);
  info.size = 256;
  info.usage = usage;
  VkBuffer buffer = VK_NULL_HANDLE;
  status = context.check("vkCreateBuffer", context.vk.CreateBuffer(context.device, &info, context.allocator, &buffer));
  if (status != Status::Ok) return status;
  VkMemoryRequirements memory = {};
  context.vk.GetBufferMemoryRequirements(context.device, buffer, &memory);
  context.vk.DestroyBuffer(context.device, buffer, context.allocator);
  needs->bytes = bytes;
  needs->alignment = alignment;
  needs->usage = usage;
  needs->memory_type_bits =
      order_memory_types(context.physical.memory, memory.memoryTypeBits, MemoryUse::Device, bytes).bits();
  needs->preferred = properties_for(MemoryUse::Device).preferred;
  return Status::Ok;
}

uint64_t most_bytes(const Context& context, VkBuffer buffer, VkDeviceSize offset) {
  VkMemoryRequirements memory = {};
  context.vk.GetBufferMemoryRequirements(context.device, buffer, &memory);
  return memory.size - std::min(memory.size, offset);
}

Status check_range(const Context& context, const char* call, const BufferRange& range, uint64_t bytes,
                   uint64_t alignment) {
  if (range.buffer == VK_NULL_HANDLE)
    return fail(context.log, Status::InvalidArgument, format("%s: the VkBuffer is null", call));
  if (range.offset % alignment != 0)
    return fail(context.log, Status::InvalidArgument,
                format("%s: offset %llu is no multiple of %llu", call, static_cast<ull>(range.offset),
                       static_cast<ull>(alignment)));
  const uint64_t given = range.bytes == VK_WHOLE_SIZE ? most_bytes(context, range.buffer, range.offset) : range.bytes;
  if (given >= bytes) return Status::Ok;
  return fail(
      context.log, Status::BufferTooSmall,
      format("%s: %llu bytes are needed, %llu were given", call, static_cast<ull>(bytes), static_cast<ull>(given)));
}

}  // namespace heed::vulkan

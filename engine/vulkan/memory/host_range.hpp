// Ranges of the host's buffers used as scratch, weights or States.
#pragma once

#include <heed/vulkan_memory.hpp>

#include "vulkan/context/context.hpp"

namespace heed::vulkan {

// Describes a buffer of `bytes` bytes that only the GPU uses: usage, memory types and alignment, for the host to create.
Status needs_of(Context& context, uint64_t bytes, VkBufferUsageFlags usage, uint64_t alignment, BufferNeeds* needs);

// The most bytes that a buffer can have from `offset` to its end. Vulkan cannot report a buffer's size, but a buffer is never larger than
// the memory it requires.
uint64_t most_bytes(const Context& context, VkBuffer buffer, VkDeviceSize offset);

// Ok, InvalidArgument (null, misaligned) or BufferTooSmall, with both numbers. `call` begins the message.
Status check_range(const Context& context, const char* call, const BufferRange& range, uint64_t bytes,
                   uint64_t alignment);

}  // namespace heed::vulkan

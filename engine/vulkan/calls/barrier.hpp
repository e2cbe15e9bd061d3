// A memory barrier between what came before it and what comes after it.
#pragma once

#include "vulkan/calls/functions.hpp"

namespace heed::vulkan {

struct SyncSide {
  VkPipelineStageFlags stages = 0;
  VkAccessFlags accesses = 0;
};

inline constexpr VkAccessFlags kShaderAccess = VK_ACCESS_SHADER_READ_BIT | VK_ACCESS_SHADER_WRITE_BIT;

inline void memory_barrier(const Functions& vk, VkCommandBuffer commands, const SyncSide& from, const SyncSide& to) {
  auto barrier = structure<VkMemoryBarrier>(VK_STRUCTURE_TYPE_MEMORY_BARRIER);
  barrier.srcAccessMask = from.accesses;
  barrier.dstAccessMask = to.accesses;
  vk.CmdPipelineBarrier(commands, from.stages, to.stages, 0, 1, &barrier, 0, nullptr, 0, nullptr);
}

}  // namespace heed::vulkan

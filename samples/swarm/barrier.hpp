// Memory barriers between the passes of a frame.
#pragma once

#include "vulkan.hpp"

namespace swarm {

// One side of a barrier.
struct Side {
  VkPipelineStageFlags stages = 0;
  VkAccessFlags accesses = 0;
};

constexpr Side kComputeWrites = {VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT, VK_ACCESS_SHADER_WRITE_BIT};
constexpr Side kComputes = {VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT,
                            VK_ACCESS_SHADER_READ_BIT | VK_ACCESS_SHADER_WRITE_BIT};
constexpr Side kCopies = {VK_PIPELINE_STAGE_TRANSFER_BIT,
                          VK_ACCESS_TRANSFER_READ_BIT | VK_ACCESS_TRANSFER_WRITE_BIT};
constexpr Side kCopyWrites = {VK_PIPELINE_STAGE_TRANSFER_BIT, VK_ACCESS_TRANSFER_WRITE_BIT};

inline void barrier(VkCommandBuffer commands, Side before, Side after) {
  auto memory = structure<VkMemoryBarrier>(VK_STRUCTURE_TYPE_MEMORY_BARRIER);
  memory.srcAccessMask = before.accesses;
  memory.dstAccessMask = after.accesses;
  vkCmdPipelineBarrier(commands, before.stages, after.stages, 0, 1, &memory, 0, nullptr, 0, nullptr);
}

}  // namespace swarm

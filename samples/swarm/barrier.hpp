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
constexpr Side kHostReads = {VK_PIPELINE_STAGE_HOST_BIT, VK_ACCESS_HOST_READ_BIT};
constexpr Side kCopies = {VK_PIPELINE_STAGE_TRANSFER_BIT, VK_ACCESS_TRANSFER_READ_BIT | VK_ACCESS_TRANSFER_WRITE_BIT};
constexpr Side kCopyWrites = {VK_PIPELINE_STAGE_TRANSFER_BIT, VK_ACCESS_TRANSFER_WRITE_BIT};

inline void barrier(VkCommandBuffer commands, Side before, Side after) {
  auto memory = structure<VkMemoryBarrier>(VK_STRUCTURE_TYPE_MEMORY_BARRIER);
  memory.srcAccessMask = before.accesses;
  memory.dstAccessMask = after.accesses;
  vkCmdPipelineBarrier(commands, before.stages, after.stages, 0, 1, &memory, 0, nullptr, 0, nullptr);
}

// A barrier for a whole colour image that has no mipmaps and one layer.
inline void image_barrier(VkCommandBuffer commands, VkImage image, VkImageLayout from, VkImageLayout to, Side before,
                          Side after) {
  auto info = structure<VkImageMemoryBarrier>(VK_STRUCTURE_TYPE_IMAGE_MEMORY_BARRIER);
  info.image = image;
  info.subresourceRange = {VK_IMAGE_ASPECT_COLOR_BIT, 0, 1, 0, 1};
  info.srcQueueFamilyIndex = info.dstQueueFamilyIndex = VK_QUEUE_FAMILY_IGNORED;
  info.oldLayout = from;
  info.newLayout = to;
  info.srcAccessMask = before.accesses;
  info.dstAccessMask = after.accesses;
  vkCmdPipelineBarrier(commands, before.stages, after.stages, 0, 0, nullptr, 0, nullptr, 1, &info);
}

}  // namespace swarm

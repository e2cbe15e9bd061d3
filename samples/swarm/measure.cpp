#include "measure.hpp"

#include <algorithm>
#include <cmath>

namespace swarm {
namespace {

std::vector<glm::vec3> read_positions(const Gpu& gpu, const Buffer& rows, uint32_t count) {
  const VkDeviceSize bytes = VkDeviceSize{count} * SWARM_ROW * sizeof(float);
  const Buffer copy = make_buffer(gpu, bytes, VK_BUFFER_USAGE_TRANSFER_DST_BIT, Where::Host);
  run_now(gpu, [&](VkCommandBuffer commands) {
    auto barrier = structure<VkMemoryBarrier>(VK_STRUCTURE_TYPE_MEMORY_BARRIER);
    barrier.srcAccessMask = VK_ACCESS_SHADER_WRITE_BIT;
    barrier.dstAccessMask = VK_ACCESS_TRANSFER_READ_BIT;
    vkCmdPipelineBarrier(commands, VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT, VK_PIPELINE_STAGE_TRANSFER_BIT, 0, 1, &barrier,
                         0, nullptr, 0, nullptr);
    const VkBufferCopy range = {0, 0, bytes};
    vkCmdCopyBuffer(commands, rows.handle, copy.handle, 1, &range);
    barrier.srcAccessMask = VK_ACCESS_TRANSFER_WRITE_BIT;
    barrier.dstAccessMask = VK_ACCESS_HOST_READ_BIT;
    vkCmdPipelineBarrier(commands, VK_PIPELINE_STAGE_TRANSFER_BIT, VK_PIPELINE_STAGE_HOST_BIT, 0, 1, &barrier, 0,
                         nullptr, 0, nullptr);
  });
  std::vector<glm::vec3> positions(count);
  for (uint32_t i = 0; i < count; ++i)
    std::memcpy(&positions[i], static_cast<const float*>(copy.mapped) + size_t{i} * SWARM_ROW, sizeof(glm::vec3));
  return positions;
}

double spread_of(const std::vector<glm::vec3>& all) {
  glm::dvec3 center(0);
  for (const glm::vec3& x : all) center += glm::dvec3(x);
  center /= static_cast<double>(all.size());
  double sum = 0;
  for (const glm::vec3& x : all) sum += glm::dot(glm::dvec3(x) - center, glm::dvec3(x) - center);
  return std::sqrt(sum / static_cast<double>(all.size()));
}

// The mean distance from each of `all` to the nearest of `others`. `self`: both are the same list.
double mean_nearest(const std::vector<glm::vec3>& all, std::span<const glm::vec3> others, bool self) {
  double sum = 0;
  for (size_t i = 0; i < all.size(); ++i) {
    float best = INFINITY;
    for (size_t j = 0; j < others.size(); ++j)
      if (!self || i != j) best = std::min(best, glm::distance(all[i], others[j]));
    sum += static_cast<double>(best);
  }
  return sum / static_cast<double>(all.size());
}

double order_of(const std::vector<glm::vec3>& all) {
  size_t kept = 0, asked = 0;
  for (size_t i = 3 * SWARM_TRIBES; i < all.size(); ++i, ++asked)
    if (glm::distance(all[i], all[i - SWARM_TRIBES]) < glm::distance(all[i], all[i - 3 * SWARM_TRIBES])) ++kept;
  return asked == 0 ? 0.0 : static_cast<double>(kept) / static_cast<double>(asked);
}

}  // namespace

Measures measure(const Gpu& gpu, const Bindings& bindings, uint32_t agents, uint32_t targets) {
  const std::vector<glm::vec3> all = read_positions(gpu, bindings.agents, agents);
  const std::vector<glm::vec3> lights = read_positions(gpu, bindings.targets, targets);
  Measures m;
  for (const glm::vec3& x : all) m.finite = m.finite && std::isfinite(x.x) && std::isfinite(x.y) && std::isfinite(x.z);
  m.spread = spread_of(all);
  m.nearest = mean_nearest(all, all, true);
  m.order = order_of(all);
  if (lights.size() > 1) m.distance = mean_nearest(all, std::span(lights).subspan(1), false);
  return m;
}

}  // namespace swarm

#include "crowd.hpp"

#include "spirv.hpp"

namespace swarm {
namespace {

constexpr VkPipelineStageFlags kCompute = VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT;
constexpr VkPipelineStageFlags kReaders = kCompute | VK_PIPELINE_STAGE_VERTEX_SHADER_BIT;

// What compute shaders wrote becomes visible to `readers`, and they write only after those of before have
// read.
void barrier(VkCommandBuffer commands, VkPipelineStageFlags before, VkPipelineStageFlags readers) {
  auto memory = structure<VkMemoryBarrier>(VK_STRUCTURE_TYPE_MEMORY_BARRIER);
  memory.srcAccessMask = VK_ACCESS_SHADER_WRITE_BIT;
  memory.dstAccessMask = VK_ACCESS_SHADER_READ_BIT | VK_ACCESS_SHADER_WRITE_BIT;
  vkCmdPipelineBarrier(commands, before, readers, 0, 1, &memory, 0, nullptr, 0, nullptr);
}

}  // namespace

Crowd::Crowd(const Gpu& gpu, const Bindings& b)
    : bindings_(b),
      attention_(gpu, {b.agents.handle, b.targets.handle, b.look.handle, b.pick.handle, b.weights.handle},
                 kSlots),
      spawn_(make_compute(gpu, b.layout(), spirv::kSpawnComp)),
      targets_(make_compute(gpu, b.layout(), spirv::kTargetsComp)),
      integrate_(make_compute(gpu, b.layout(), spirv::kIntegrateComp)),
      pick_(make_compute(gpu, b.layout(), spirv::kPickComp)),
      strongest_(make_compute(gpu, b.layout(), spirv::kStrongestComp)) {}

void Crowd::dispatch(VkCommandBuffer commands, VkPipeline pipeline, uint32_t slot,
                     uint32_t invocations) const {
  vkCmdBindPipeline(commands, VK_PIPELINE_BIND_POINT_COMPUTE, pipeline);
  // Recording attention binds sets of its own.
  bindings_.bind(commands, VK_PIPELINE_BIND_POINT_COMPUTE, slot);
  vkCmdDispatch(commands, (invocations + SWARM_GROUP - 1) / SWARM_GROUP, 1, 1);
}

void Crowd::record_step(VkCommandBuffer commands, const CrowdStep& step, uint32_t slot,
                        VkQueryPool timestamps, uint32_t first) const {
  // The last frame's vertex shaders still read what is written here.
  barrier(commands, kReaders, kCompute);
  if (step.spawn_from < step.agents) {
    vkCmdPushConstants(commands, bindings_.layout(), VK_SHADER_STAGE_COMPUTE_BIT, 0, sizeof step.spawn_from,
                       &step.spawn_from);
    dispatch(commands, spawn_, slot, step.agents - step.spawn_from);
  }
  if (step.flavour == Flavour::Cross) dispatch(commands, targets_, slot, step.targets);
  barrier(commands, kCompute, kCompute);

  if (timestamps != VK_NULL_HANDLE)
    vkCmdWriteTimestamp(commands, VK_PIPELINE_STAGE_BOTTOM_OF_PIPE_BIT, timestamps, first);
  attention_.record_look(commands, step.flavour, step.agents, step.targets, slot);
  if (timestamps != VK_NULL_HANDLE)
    vkCmdWriteTimestamp(commands, VK_PIPELINE_STAGE_BOTTOM_OF_PIPE_BIT, timestamps, first + 1);
  barrier(commands, kCompute, kCompute);
  if (step.move) dispatch(commands, integrate_, slot, step.agents);
  barrier(commands, kCompute, kReaders);
}

void Crowd::record_links(VkCommandBuffer commands, const CrowdStep& step, uint32_t slot) const {
  dispatch(commands, pick_, slot, 1);
  barrier(commands, kCompute, kCompute);
  attention_.record_weights(commands, step.flavour,
                            step.flavour == Flavour::Cross ? step.targets : step.agents, slot);
  barrier(commands, kCompute, kCompute);
  dispatch(commands, strongest_, slot, SWARM_HEADS * SWARM_GROUP);
  barrier(commands, kCompute, kReaders);
}

}  // namespace swarm

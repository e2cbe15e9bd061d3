#include "crowd.hpp"

#include "spirv.hpp"

namespace swarm {
namespace {

constexpr Side kDraws = {VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT | VK_PIPELINE_STAGE_VERTEX_SHADER_BIT,
                         VK_ACCESS_SHADER_READ_BIT};
// Vertex shaders of the last frame may still read what compute shaders are about to write.
constexpr Side kLastFrame = {kDraws.stages, VK_ACCESS_SHADER_WRITE_BIT};

}  // namespace

Crowd::Crowd(const Gpu& gpu, const Bindings& b, double attention_ms, const LearnOptions& learn)
    : bindings_(b),
      attention_(gpu, {b.agents.handle, b.targets.handle, b.look.handle}, {b.pick.handle, b.weights.handle},
                 learn.on ? std::span<const Flavour>(kHunted) : std::span<const Flavour>(kFlavours), kSlots,
                 attention_ms > 0),
      spread_(attention_ms > 0 ? std::make_unique<Spread>(gpu, b, attention_, attention_ms) : nullptr),
      hunt_(learn.on ? std::make_unique<Hunt>(gpu, attention_.device(), b, learn) : nullptr),
      spawn_(make_compute(gpu, b.layout(), spirv::kSpawnComp)),
      targets_(make_compute(gpu, b.layout(), spirv::kTargetsComp)),
      integrate_(make_compute(gpu, b.layout(), spirv::kIntegrateComp)),
      pick_(make_compute(gpu, b.layout(), spirv::kPickComp)),
      strongest_(make_compute(gpu, b.layout(), spirv::kStrongestComp)) {}

void Crowd::dispatch(VkCommandBuffer commands, VkPipeline pipeline, uint32_t slot, uint32_t invocations) const {
  vkCmdBindPipeline(commands, VK_PIPELINE_BIND_POINT_COMPUTE, pipeline);
  // heed binds its own descriptor sets while it records, so that these must be bound again.
  bindings_.bind(commands, VK_PIPELINE_BIND_POINT_COMPUTE, slot);
  vkCmdDispatch(commands, (invocations + SWARM_GROUP - 1) / SWARM_GROUP, 1, 1);
}

void Crowd::record_step(VkCommandBuffer commands, const CrowdStep& step, uint32_t slot, VkQueryPool timestamps,
                        uint32_t first) {
  barrier(commands, kLastFrame, kComputes);
  if (hunt_ && step.forget) hunt_->learner().record_restart(commands);
  if (step.spawn_from < step.agents) {
    vkCmdPushConstants(commands, bindings_.layout(), VK_SHADER_STAGE_COMPUTE_BIT, 0, sizeof step.spawn_from,
                       &step.spawn_from);
    dispatch(commands, spawn_, slot, step.agents - step.spawn_from);
  }
  if (step.flavour == Flavour::Cross) dispatch(commands, targets_, slot, step.targets);
  barrier(commands, kComputeWrites, spread_ ? kComputes : attention_.reads(step.flavour));

  if (timestamps != VK_NULL_HANDLE)
    vkCmdWriteTimestamp(commands, VK_PIPELINE_STAGE_BOTTOM_OF_PIPE_BIT, timestamps, first);
  if (spread_)
    spread_->record(commands, step.look());
  else
    attention_.record_look(commands, step.look(), slot);
  if (timestamps != VK_NULL_HANDLE)
    vkCmdWriteTimestamp(commands, VK_PIPELINE_STAGE_BOTTOM_OF_PIPE_BIT, timestamps, first + 1);
  barrier(commands, spread_ ? kComputeWrites : attention_.writes(step.flavour), kComputes);
  if (step.move && hunt_)
    hunt_->record(commands, step.agents, slot, timestamps, first + 3);
  else if (step.move)
    dispatch(commands, integrate_, slot, step.agents);
  barrier(commands, kComputeWrites, kDraws);
}

void Crowd::record_links(VkCommandBuffer commands, const CrowdStep& step, uint32_t slot) const {
  dispatch(commands, pick_, slot, 1);
  barrier(commands, kComputeWrites, kComputes);
  attention_.record_weights(commands, step.flavour, step.flavour == Flavour::Cross ? step.targets : step.agents, slot);
  barrier(commands, kComputeWrites, kComputes);
  dispatch(commands, strongest_, slot, SWARM_HEADS * SWARM_GROUP);
  barrier(commands, kComputeWrites, kDraws);
}

}  // namespace swarm

#include "hunt.hpp"

#include "../barrier.hpp"
#include "spirv.hpp"

namespace swarm {

Hunt::Hunt(const Gpu& gpu, heed::Device& device, const Bindings& b, const LearnOptions& options)
    : bindings_(b),
      learner_(gpu, device, b, options),
      observe_(make_compute(gpu, b.layout(), spirv::kObserveComp)),
      flee_(make_compute(gpu, b.layout(), spirv::kFleeComp)),
      hunt_(make_compute(gpu, b.layout(), spirv::kHuntComp)) {}

void Hunt::dispatch(VkCommandBuffer commands, VkPipeline pipeline, uint32_t slot, uint32_t groups) const {
  vkCmdBindPipeline(commands, VK_PIPELINE_BIND_POINT_COMPUTE, pipeline);
  bindings_.bind(commands, VK_PIPELINE_BIND_POINT_COMPUTE, slot);
  vkCmdDispatch(commands, groups, 1, 1);
}

void Hunt::record(VkCommandBuffer commands, uint32_t agents, uint32_t slot, VkQueryPool timestamps, uint32_t first) {
  const uint32_t groups = (agents + SWARM_GROUP - 1) / SWARM_GROUP;
  const auto stamp = [&](uint32_t query) {
    if (timestamps != VK_NULL_HANDLE)
      vkCmdWriteTimestamp(commands, VK_PIPELINE_STAGE_BOTTOM_OF_PIPE_BIT, timestamps, query);
  };
  dispatch(commands, observe_, slot, groups);
  learner_.record_action(commands, agents, slot);
  dispatch(commands, flee_, slot, groups);
  barrier(commands, kComputeWrites, kComputes);
  dispatch(commands, hunt_, slot, 1);
  barrier(commands, kComputeWrites, kHostReads);
  stamp(first);
  learner_.record_step(commands, agents, slot);
  stamp(first + 1);
}

}  // namespace swarm

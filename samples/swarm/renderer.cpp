#include "renderer.hpp"

namespace swarm {
namespace {

// A slot's timestamps: start of the frame, before attention, after attention, end of the frame; before learning, after it.
constexpr uint32_t kQueries = 6, kAlways = 4;

}  // namespace

Renderer::Renderer(const Gpu& gpu, const Canvas& canvas, double attention_ms, const LearnOptions& learn)
    : gpu_(gpu),
      canvas_(canvas),
      bindings_(gpu),
      crowd_(gpu, bindings_, attention_ms, learn),
      painter_(gpu, bindings_, canvas) {
  for (Slot& slot : slots_) {
    auto pool_info = structure<VkCommandPoolCreateInfo>(VK_STRUCTURE_TYPE_COMMAND_POOL_CREATE_INFO);
    pool_info.flags = VK_COMMAND_POOL_CREATE_TRANSIENT_BIT;
    pool_info.queueFamilyIndex = gpu.family;
    VkCommandPool pool;
    check(vkCreateCommandPool(gpu.device, &pool_info, nullptr, &pool), "vkCreateCommandPool");
    slot.pool = {gpu.device, pool, vkDestroyCommandPool};
    auto info = structure<VkCommandBufferAllocateInfo>(VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO);
    info.commandPool = pool;
    info.commandBufferCount = 1;
    check(vkAllocateCommandBuffers(gpu.device, &info, &slot.commands), "vkAllocateCommandBuffers");
    const auto fence_info = structure<VkFenceCreateInfo>(VK_STRUCTURE_TYPE_FENCE_CREATE_INFO);
    VkFence fence;
    check(vkCreateFence(gpu.device, &fence_info, nullptr, &fence), "vkCreateFence");
    slot.done = {gpu.device, fence, vkDestroyFence};
  }
  if (!gpu.timestamps) return;
  auto info = structure<VkQueryPoolCreateInfo>(VK_STRUCTURE_TYPE_QUERY_POOL_CREATE_INFO);
  info.queryType = VK_QUERY_TYPE_TIMESTAMP;
  info.queryCount = kSlots * kQueries;
  VkQueryPool queries;
  check(vkCreateQueryPool(gpu.device, &info, nullptr, &queries), "vkCreateQueryPool");
  queries_ = {gpu.device, queries, vkDestroyQueryPool};
}

Renderer::~Renderer() {
  vkDeviceWaitIdle(gpu_.device);  // the result does not matter: a lost device needs no waiting
}

uint32_t Renderer::next_slot() {
  slot_ = (slot_ + 1) % kSlots;
  Slot& slot = slots_[slot_];
  if (!slot.used) return slot_;
  check(vkWaitForFences(gpu_.device, 1, slot.done.address(), VK_TRUE, UINT64_MAX), "vkWaitForFences");
  read_times();
  if (slot.learned) counts_ = bindings_.tally(slot_);
  return slot_;
}

void Renderer::read_times() {
  if (queries_ == VK_NULL_HANDLE) return;
  uint64_t ticks[kQueries];
  const bool learned = slots_[slot_].learned;
  const VkResult result = vkGetQueryPoolResults(gpu_.device, queries_, slot_ * kQueries, learned ? kQueries : kAlways,
                                                sizeof ticks, ticks, sizeof ticks[0], VK_QUERY_RESULT_64_BIT);
  if (result != VK_SUCCESS) return;
  const double to_ms = static_cast<double>(gpu_.properties.limits.timestampPeriod) * 1e-6;
  times_.frame = static_cast<double>(ticks[3] - ticks[0]) * to_ms;
  times_.attention = static_cast<double>(ticks[2] - ticks[1]) * to_ms;
  times_.learning = learned ? static_cast<double>(ticks[5] - ticks[4]) * to_ms : -1;
}

void Renderer::record(const FrameJob& job, VkCommandBuffer commands) {
  const uint32_t first = slot_ * kQueries;
  const VkQueryPool queries = queries_;
  if (queries != VK_NULL_HANDLE) {
    vkCmdResetQueryPool(commands, queries, first, kQueries);
    vkCmdWriteTimestamp(commands, VK_PIPELINE_STAGE_TOP_OF_PIPE_BIT, queries, first);
  }
  crowd_.record_step(commands, job.step, slot_, queries, first + 1);
  if (job.draw) {
    if (job.step.links) crowd_.record_links(commands, job.step, slot_);
    canvas_.begin(commands, job.image);
    painter_.draw(commands, job.step, static_cast<uint32_t>(job.boxes.size()), slot_);
    canvas_.end(commands);
  }
  if (queries != VK_NULL_HANDLE)
    vkCmdWriteTimestamp(commands, VK_PIPELINE_STAGE_BOTTOM_OF_PIPE_BIT, queries, first + 3);
}

void Renderer::render(const FrameJob& job) {
  Slot& slot = slots_[slot_];
  bindings_.write(slot_, job.frame, job.boxes);
  check(vkResetCommandPool(gpu_.device, slot.pool, 0), "vkResetCommandPool");
  auto begin = structure<VkCommandBufferBeginInfo>(VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO);
  begin.flags = VK_COMMAND_BUFFER_USAGE_ONE_TIME_SUBMIT_BIT;
  check(vkBeginCommandBuffer(slot.commands, &begin), "vkBeginCommandBuffer");
  record(job, slot.commands);
  check(vkEndCommandBuffer(slot.commands), "vkEndCommandBuffer");

  check(vkResetFences(gpu_.device, 1, slot.done.address()), "vkResetFences");
  const VkPipelineStageFlags stage = VK_PIPELINE_STAGE_COLOR_ATTACHMENT_OUTPUT_BIT;
  auto submit = structure<VkSubmitInfo>(VK_STRUCTURE_TYPE_SUBMIT_INFO);
  submit.commandBufferCount = 1;
  submit.pCommandBuffers = &slot.commands;
  if (job.wait != VK_NULL_HANDLE) {
    submit.waitSemaphoreCount = 1;
    submit.pWaitSemaphores = &job.wait;
    submit.pWaitDstStageMask = &stage;
  }
  if (job.signal != VK_NULL_HANDLE) {
    submit.signalSemaphoreCount = 1;
    submit.pSignalSemaphores = &job.signal;
  }
  slot.used = false;
  slot.learned = crowd_.hunt() != nullptr && job.step.move;
  check(vkQueueSubmit(gpu_.queue, 1, &submit, slot.done), "vkQueueSubmit");
  slot.used = true;
}

}  // namespace swarm

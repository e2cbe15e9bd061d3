#include "vulkan/context/submission.hpp"

#include <algorithm>
#include <thread>

#include "base/logging.hpp"
#include "vulkan/calls/names.hpp"

namespace heed::vulkan {

namespace {

// A bounded list of dispatches never takes this long, not even on a software driver under a sanitizer.
constexpr uint32_t kTimeoutMs = 600 * 1000;
// Operating systems reset a hanging GPU within 10 s (Windows 2 s); afterwards it uses no object any more.
constexpr uint32_t kResetMs = 10 * 1000;

// A failing wait is retried this often, with pauses, since memory may become available within half a second.
constexpr int kTries = 50;
constexpr std::chrono::milliseconds kPause{10};

// After any other result, errors included, the submitted work may still be running.
bool is_at_rest(VkResult waited) { return waited == VK_SUCCESS || waited == VK_ERROR_DEVICE_LOST; }

// vkQueueSubmit, through the host's QueueAccess if given.
VkResult submit_to_queue(Context& context, const VkSubmitInfo& info, VkFence fence) {
  const QueueAccess& access = context.queue_access;
  const std::lock_guard lock(context.queue_mutex);
  if (access.submit != nullptr) return access.submit(access.user, context.queue, info, fence);
  if (access.lock != nullptr) access.lock(access.user);
  const VkResult result = context.vk.QueueSubmit(context.queue, 1, &info, fence);
  if (access.unlock != nullptr) access.unlock(access.user);
  return result;
}

}  // namespace

Status Submission::create(Context& context, const char* what) {
  context_ = &context;
  if (!context.can_submit())
    return fail(context.log, Status::Unsupported,
                format("%s: the host gave no queue with its device (HostDevice::queue); without one, recording is "
                       "possible, and vulkan::upload to memory that the host has mapped (WeightTarget::mapped)",
                       what));
  auto pool = structure<VkCommandPoolCreateInfo>(VK_STRUCTURE_TYPE_COMMAND_POOL_CREATE_INFO);
  pool.queueFamilyIndex = context.queue_family;
  Status status = context.check("vkCreateCommandPool",
                                context.vk.CreateCommandPool(context.device, &pool, context.allocator, &pool_));
  if (status != Status::Ok) return status;
  auto buffer = structure<VkCommandBufferAllocateInfo>(VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO);
  buffer.commandPool = pool_;
  buffer.level = VK_COMMAND_BUFFER_LEVEL_PRIMARY;
  buffer.commandBufferCount = 1;
  status =
      context.check("vkAllocateCommandBuffers", context.vk.AllocateCommandBuffers(context.device, &buffer, &commands_));
  if (status != Status::Ok) return status;
  const VkFenceCreateInfo fence = {VK_STRUCTURE_TYPE_FENCE_CREATE_INFO, nullptr, 0};
  return context.check("vkCreateFence", context.vk.CreateFence(context.device, &fence, context.allocator, &fence_));
}

Submission::~Submission() {
  if (context_ == nullptr || context_->hung) return;
  if (fence_ != VK_NULL_HANDLE) context_->vk.DestroyFence(context_->device, fence_, context_->allocator);
  if (pool_ != VK_NULL_HANDLE) context_->vk.DestroyCommandPool(context_->device, pool_, context_->allocator);
}

Status Submission::begin(VkCommandBuffer* commands) {
  Status status = context_->check("vkResetCommandPool", context_->vk.ResetCommandPool(context_->device, pool_, 0));
  if (status != Status::Ok) return status;
  auto info = structure<VkCommandBufferBeginInfo>(VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO);
  info.flags = VK_COMMAND_BUFFER_USAGE_ONE_TIME_SUBMIT_BIT;
  *commands = commands_;
  return context_->check("vkBeginCommandBuffer", context_->vk.BeginCommandBuffer(commands_, &info));
}

VkResult Submission::wait_until(Clock::time_point end) {
  for (int tries = 1;; ++tries) {
    const auto left = std::max<std::chrono::nanoseconds>(end - Clock::now(), std::chrono::nanoseconds(0));
    const VkResult waited =
        context_->vk.WaitForFences(context_->device, 1, &fence_, VK_TRUE, static_cast<uint64_t>(left.count()));
    if (is_at_rest(waited) || waited == VK_TIMEOUT || tries == kTries || left.count() == 0) return waited;
    std::this_thread::sleep_for(kPause);
  }
}

Status Submission::submit(uint32_t timeout_ms) {
  Context& context = *context_;
  Status status = context.check("vkEndCommandBuffer", context.vk.EndCommandBuffer(commands_));
  if (status == Status::Ok) status = context.check("vkResetFences", context.vk.ResetFences(context.device, 1, &fence_));
  if (status != Status::Ok) return status;
  auto info = structure<VkSubmitInfo>(VK_STRUCTURE_TYPE_SUBMIT_INFO);
  info.commandBufferCount = 1;
  info.pCommandBuffers = &commands_;
  status = context.check("vkQueueSubmit", submit_to_queue(context, info, fence_));
  limit_ms_ = timeout_ms == 0 ? kTimeoutMs : timeout_ms;
  end_ = Clock::now() + std::chrono::milliseconds(limit_ms_);
  return status;
}

bool Submission::ended() {
  if (context_->lost || Clock::now() >= end_) return true;
  const VkResult waited = context_->vk.WaitForFences(context_->device, 1, &fence_, VK_TRUE, 0);
  // Other failures concern only this call: the next one, or wait, tries again.
  if (waited == VK_ERROR_DEVICE_LOST) (void)context_->check("vkWaitForFences", waited);
  return is_at_rest(waited);
}

Status Submission::wait() {
  Context& context = *context_;
  if (context.gone) return context.there("wait");
  // If another wait found the device lost, this submission may never end, and is waited for no longer than a reset takes.
  const bool was_lost = context.lost;
  const auto reset_from_now = [] { return Clock::now() + std::chrono::milliseconds(kResetMs); };
  const VkResult waited = wait_until(was_lost ? std::min(end_, reset_from_now()) : end_);
  if (is_at_rest(waited)) return context.check("vkWaitForFences", waited);
  if (was_lost) {
    context.hung = true;
    return context.alive("wait");
  }
  context.lost = true;
  if (waited == VK_TIMEOUT) context.timed_out = true;
  // `hung` is never cleared: that another wait ended does not show that this submission has.
  if (!is_at_rest(wait_until(reset_from_now()))) context.hung = true;
  if (waited == VK_TIMEOUT)
    return fail(context.log, Status::DeviceLost,
                format("%s did not finish within %u ms", context.info.word.c_str(), limit_ms_));
  return fail(context.log, Status::DeviceLost,
              format("vkWaitForFences: %s; whether %s has finished is not known", to_string(waited),
                     context.info.word.c_str()));
}

}  // namespace heed::vulkan

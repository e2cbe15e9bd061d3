// One command buffer that is submitted and waited for, at once or later: used by upload, run and start, but not for recording into a host's
// command buffer.
#pragma once

#include <chrono>

#include "vulkan/context/context.hpp"

namespace heed::vulkan {

class Submission {
 public:
  Submission() = default;
  ~Submission();
  Submission(const Submission&) = delete;
  Submission& operator=(const Submission&) = delete;

  // Unsupported if the host gave no queue; `what` is the call that needs it ("upload").
  Status create(Context& context, const char* what);

  Status begin(VkCommandBuffer* commands);
  // Ends the command buffer and submits it. The work may take `timeout_ms` from now on (0: ten minutes).
  Status submit(uint32_t timeout_ms = 0);
  // Whether wait would return without waiting, because the work has ended or exceeded its time limit.
  bool ended();
  // Waits for the submitted work. After the limit, or if the wait keeps failing, the device counts as lost.
  Status wait();
  Status submit_and_wait(uint32_t timeout_ms = 0) {
    const Status status = submit(timeout_ms);
    return status == Status::Ok ? wait() : status;
  }

 private:
  using Clock = std::chrono::steady_clock;
  VkResult wait_until(Clock::time_point end);

  Context* context_ = nullptr;
  VkCommandPool pool_ = VK_NULL_HANDLE;
  VkCommandBuffer commands_ = VK_NULL_HANDLE;
  VkFence fence_ = VK_NULL_HANDLE;
  uint32_t limit_ms_ = 0;  // time limit of the last submission
  Clock::time_point end_;
};

}  // namespace heed::vulkan

// One command buffer that is submitted and waited for: what upload and run need. Recording into a host's
// command buffer never comes here.
#pragma once

#include "vulkan/context.hpp"

namespace heed::vulkan {

class Submission {
 public:
  Submission() = default;
  ~Submission();
  Submission(const Submission&) = delete;
  Submission& operator=(const Submission&) = delete;

  // Unsupported if the host gave no queue; `what` is the call that needs it ("upload").
  Status create(Context& context, const char* what);
  bool created() const { return fence_ != VK_NULL_HANDLE; }

  Status begin(VkCommandBuffer* commands);
  // Ends, submits, waits. A wait of `timeout_ms` (0: ten minutes), or one that keeps failing, counts as a lost device.
  Status submit_and_wait(uint32_t timeout_ms = 0);

 private:
  VkResult wait(uint32_t limit_ms);

  Context* context_ = nullptr;
  VkCommandPool pool_ = VK_NULL_HANDLE;
  VkCommandBuffer commands_ = VK_NULL_HANDLE;
  VkFence fence_ = VK_NULL_HANDLE;
};

}  // namespace heed::vulkan

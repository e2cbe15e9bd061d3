// What waits for the GPU may say, and what may be destroyed then: by a driver made of a few functions.
#include "vulkan/submission.hpp"

#include <algorithm>
#include <vector>

#include "catch.hpp"

using namespace heed;
using namespace heed::vulkan;

namespace {

using Results = std::vector<VkResult>;
constexpr uint32_t kLimitMs = 60'000;  // longer than what a reset is given

// What waits return, the last of them forever: those for the work, then those for a reset.
Results for_work, for_reset;
size_t work_waits = 0, reset_waits = 0, destroyed = 0;

VkResult VKAPI_CALL wait(VkDevice, uint32_t, const VkFence*, VkBool32, uint64_t nanoseconds) {
  const bool work = nanoseconds > uint64_t{kLimitMs} * 1'000'000 / 2;
  const Results& results = work ? for_work : for_reset;
  size_t& count = work ? work_waits : reset_waits;
  return results[std::min(count++, results.size() - 1)];
}

template <class Handle>
Handle handle() {
  return (Handle)(uintptr_t{1});  // an integer where handles are integers
}

void fill(Functions* vk) {
  vk->CreateCommandPool = [](VkDevice, const VkCommandPoolCreateInfo*, const VkAllocationCallbacks*,
                             VkCommandPool* pool) { return *pool = handle<VkCommandPool>(), VK_SUCCESS; };
  vk->AllocateCommandBuffers = [](VkDevice, const VkCommandBufferAllocateInfo*, VkCommandBuffer* commands) {
    return *commands = handle<VkCommandBuffer>(), VK_SUCCESS;
  };
  vk->CreateFence = [](VkDevice, const VkFenceCreateInfo*, const VkAllocationCallbacks*, VkFence* fence) {
    return *fence = handle<VkFence>(), VK_SUCCESS;
  };
  vk->EndCommandBuffer = [](VkCommandBuffer) { return VK_SUCCESS; };
  vk->ResetFences = [](VkDevice, uint32_t, const VkFence*) { return VK_SUCCESS; };
  vk->QueueSubmit = [](VkQueue, uint32_t, const VkSubmitInfo*, VkFence) { return VK_SUCCESS; };
  vk->WaitForFences = wait;
  vk->DestroyFence = [](VkDevice, VkFence, const VkAllocationCallbacks*) { ++destroyed; };
  vk->DestroyCommandPool = [](VkDevice, VkCommandPool, const VkAllocationCallbacks*) { ++destroyed; };
}

}  // namespace

TEST_CASE("submission: what is not known to have ended stays in use", "[vulkan][failure]") {
  struct Row {
    Results for_work, for_reset;
    Status status;
    bool lost, timed_out, hung;
  };
  constexpr VkResult kNoMemory = VK_ERROR_OUT_OF_HOST_MEMORY;
  const Row rows[] = {
      {{VK_SUCCESS}, {VK_SUCCESS}, Status::Ok, false, false, false},
      {{VK_ERROR_DEVICE_LOST}, {VK_SUCCESS}, Status::DeviceLost, true, false, false},
      {{kNoMemory, VK_SUCCESS}, {VK_SUCCESS}, Status::Ok, false, false, false},
      {{VK_ERROR_UNKNOWN, VK_ERROR_DEVICE_LOST}, {VK_SUCCESS}, Status::DeviceLost, true, false, false},
      {{VK_ERROR_OUT_OF_DEVICE_MEMORY}, {VK_SUCCESS}, Status::DeviceLost, true, false, false},
      {{kNoMemory}, {VK_TIMEOUT}, Status::DeviceLost, true, false, true},
      {{kNoMemory, VK_TIMEOUT}, {kNoMemory, VK_ERROR_DEVICE_LOST}, Status::DeviceLost, true, true, false},
      {{VK_TIMEOUT}, {VK_SUCCESS}, Status::DeviceLost, true, true, false},
      {{VK_TIMEOUT}, {VK_TIMEOUT}, Status::DeviceLost, true, true, true},
      {{VK_TIMEOUT}, {kNoMemory}, Status::DeviceLost, true, true, true}};
  for (const Row& row : rows) {
    INFO("row " << &row - rows);
    for_work = row.for_work, for_reset = row.for_reset;
    work_waits = reset_waits = destroyed = 0;
    Context context;
    fill(&context.vk);
    context.queue = handle<VkQueue>();
    {
      Submission submission;
      REQUIRE(submission.create(context, "run") == Status::Ok);
      CHECK(submission.submit_and_wait(kLimitMs) == row.status);
    }
    CHECK(context.lost == row.lost);
    CHECK(context.timed_out == row.timed_out);
    CHECK(context.hung == row.hung);
    CHECK(destroyed == (row.hung ? 0 : 2));
    CHECK(work_waits >= row.for_work.size());
  }
}

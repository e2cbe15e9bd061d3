// What waits for the GPU may return, and what may be destroyed afterwards, on a driver that consists of a few functions.
#include "vulkan/context/submission.hpp"

#include "harness/catch.hpp"

using namespace heed;
using namespace heed::vulkan;

namespace {

using Results = std::vector<VkResult>;
constexpr uint32_t kLimitMs = 60'000;  // longer than the time for a reset

// The results of waits for the work, then of waits for a reset. The last result of each repeats.
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

TEST_CASE("submission: a device that one wait found hung stays so, and the next waits once", "[vulkan][failure]") {
  for_work = {VK_TIMEOUT}, for_reset = {VK_TIMEOUT};
  work_waits = reset_waits = destroyed = 0;
  Context context;
  fill(&context.vk);
  context.queue = handle<VkQueue>();
  Submission first, second, third;
  for (Submission* submission : {&first, &second, &third}) {
    REQUIRE(submission->create(context, "run") == Status::Ok);
    REQUIRE(submission->submit(kLimitMs) == Status::Ok);
  }
  CHECK(first.wait() == Status::DeviceLost);
  CHECK(context.hung);
  reset_waits = 0;
  CHECK(second.ended());
  CHECK(second.wait() == Status::DeviceLost);
  CHECK(reset_waits == 1);
  for_reset = {VK_SUCCESS};
  CHECK(third.wait() == Status::Ok);
  CHECK(context.hung);  // the first one still uses its arguments
}

TEST_CASE("submission: to ask whether it has ended does not wait, except beyond its limit", "[vulkan][failure]") {
  struct Row {
    VkResult result;
    bool ended, lost;
  };
  const Row rows[] = {{VK_SUCCESS, true, false},
                      {VK_TIMEOUT, false, false},
                      {VK_ERROR_OUT_OF_HOST_MEMORY, false, false},
                      {VK_ERROR_DEVICE_LOST, true, true}};
  for (const Row& row : rows) {
    INFO("row " << &row - rows);
    for_work = {VK_SUCCESS}, for_reset = {row.result};
    work_waits = reset_waits = destroyed = 0;
    Context context;
    fill(&context.vk);
    context.queue = handle<VkQueue>();
    Submission submission;
    REQUIRE(submission.create(context, "run") == Status::Ok);
    REQUIRE(submission.submit(kLimitMs) == Status::Ok);
    CHECK(submission.ended() == row.ended);
    CHECK(reset_waits == 1);
    CHECK(work_waits == 0);
    CHECK(context.lost == row.lost);
    if (row.lost) continue;
    CHECK(submission.wait() == Status::Ok);
    for_reset = {VK_TIMEOUT};
    REQUIRE(submission.submit(1) == Status::Ok);
    while (!submission.ended()) {
    }
    for_reset = {VK_TIMEOUT, VK_SUCCESS};
    reset_waits = 0;
    CHECK(submission.wait() == Status::DeviceLost);
    CHECK(context.timed_out);
    CHECK_FALSE(context.hung);
    CHECK(submission.ended());
  }
}

// heed on an async compute queue. Inputs come from the graphics queue and outputs return to it, ordered by a timeline semaphore, with
// ownership transfers if the queue families differ. Runs with the device's own families (with a single family or queue, all submissions use
// it) and with a second family that a layer emulates.

#include "vulkan/host_plan.hpp"

using namespace heed;
using namespace heed::test;
using heed::vulkan::structure;

namespace {

constexpr VkBufferUsageFlags kUsage =
    VK_BUFFER_USAGE_STORAGE_BUFFER_BIT | VK_BUFFER_USAGE_TRANSFER_SRC_BIT | VK_BUFFER_USAGE_TRANSFER_DST_BIT;

// A command buffer of one queue family.
class Commands {
 public:
  Commands(HostVulkan& host, uint32_t family) : host_(host) {
    auto pool = structure<VkCommandPoolCreateInfo>(VK_STRUCTURE_TYPE_COMMAND_POOL_CREATE_INFO);
    pool.queueFamilyIndex = family;
    REQUIRE(host.vk().CreateCommandPool(host.device(), &pool, nullptr, &pool_) == VK_SUCCESS);
    auto info = structure<VkCommandBufferAllocateInfo>(VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO);
    info.commandPool = pool_;
    info.commandBufferCount = 1;
    REQUIRE(host.vk().AllocateCommandBuffers(host.device(), &info, &handle_) == VK_SUCCESS);
    const auto begin = structure<VkCommandBufferBeginInfo>(VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO);
    REQUIRE(host.vk().BeginCommandBuffer(handle_, &begin) == VK_SUCCESS);
  }
  ~Commands() { host_.vk().DestroyCommandPool(host_.device(), pool_, nullptr); }
  Commands(const Commands&) = delete;
  Commands& operator=(const Commands&) = delete;
  VkCommandBuffer handle() const { return handle_; }

 private:
  HostVulkan& host_;
  VkCommandPool pool_ = VK_NULL_HANDLE;
  VkCommandBuffer handle_ = VK_NULL_HANDLE;
};

class Timeline {
 public:
  explicit Timeline(HostVulkan& host) : host_(host) {
    const auto get = host.vk().GetDeviceProcAddr;
    create_ = reinterpret_cast<PFN_vkCreateSemaphore>(get(host.device(), "vkCreateSemaphore"));
    destroy_ = reinterpret_cast<PFN_vkDestroySemaphore>(get(host.device(), "vkDestroySemaphore"));
    wait_ = reinterpret_cast<PFN_vkWaitSemaphores>(get(host.device(), "vkWaitSemaphores"));
    auto type = structure<VkSemaphoreTypeCreateInfo>(VK_STRUCTURE_TYPE_SEMAPHORE_TYPE_CREATE_INFO);
    type.semaphoreType = VK_SEMAPHORE_TYPE_TIMELINE;
    const auto info = structure<VkSemaphoreCreateInfo>(VK_STRUCTURE_TYPE_SEMAPHORE_CREATE_INFO, &type);
    REQUIRE(create_(host.device(), &info, nullptr, &handle_) == VK_SUCCESS);
  }
  ~Timeline() { destroy_(host_.device(), handle_, nullptr); }
  Timeline(const Timeline&) = delete;
  Timeline& operator=(const Timeline&) = delete;

  // Waits for value `after` (0: does not wait) at `stages`, and signals after + 1.
  void submit(VkQueue queue, const Commands& commands, uint64_t after, VkPipelineStageFlags stages) {
    REQUIRE(host_.vk().EndCommandBuffer(commands.handle()) == VK_SUCCESS);
    const uint64_t next = after + 1;
    auto values = structure<VkTimelineSemaphoreSubmitInfo>(VK_STRUCTURE_TYPE_TIMELINE_SEMAPHORE_SUBMIT_INFO);
    values.waitSemaphoreValueCount = after == 0 ? 0 : 1;
    values.pWaitSemaphoreValues = &after;
    values.signalSemaphoreValueCount = 1;
    values.pSignalSemaphoreValues = &next;
    auto info = structure<VkSubmitInfo>(VK_STRUCTURE_TYPE_SUBMIT_INFO, &values);
    const VkCommandBuffer handle = commands.handle();
    info.commandBufferCount = 1;
    info.pCommandBuffers = &handle;
    info.waitSemaphoreCount = values.waitSemaphoreValueCount;
    info.pWaitSemaphores = &handle_;
    info.pWaitDstStageMask = &stages;
    info.signalSemaphoreCount = 1;
    info.pSignalSemaphores = &handle_;
    REQUIRE(host_.vk().QueueSubmit(queue, 1, &info, VK_NULL_HANDLE) == VK_SUCCESS);
  }
  void wait(uint64_t value) {
    auto info = structure<VkSemaphoreWaitInfo>(VK_STRUCTURE_TYPE_SEMAPHORE_WAIT_INFO);
    info.semaphoreCount = 1;
    info.pSemaphores = &handle_;
    info.pValues = &value;
    REQUIRE(wait_(host_.device(), &info, 60'000'000'000ull) == VK_SUCCESS);
  }

 private:
  HostVulkan& host_;
  PFN_vkCreateSemaphore create_ = nullptr;
  PFN_vkDestroySemaphore destroy_ = nullptr;
  PFN_vkWaitSemaphores wait_ = nullptr;
  VkSemaphore handle_ = VK_NULL_HANDLE;
};

struct Side {
  VkPipelineStageFlags stages;
  VkAccessFlags accesses;
};

// One half of an ownership transfer of the whole buffer. Within one family the first half is a plain barrier, and the second half only
// keeps the order.
void transfer(HostVulkan& host, const Commands& commands, VkBuffer buffer, uint32_t from, uint32_t to, Side before,
              Side after) {
  auto barrier = structure<VkBufferMemoryBarrier>(VK_STRUCTURE_TYPE_BUFFER_MEMORY_BARRIER);
  barrier.srcQueueFamilyIndex = from == to ? VK_QUEUE_FAMILY_IGNORED : from;
  barrier.dstQueueFamilyIndex = from == to ? VK_QUEUE_FAMILY_IGNORED : to;
  barrier.srcAccessMask = before.accesses;
  barrier.dstAccessMask = after.accesses;
  barrier.buffer = buffer;
  barrier.size = VK_WHOLE_SIZE;
  host.vk().CmdPipelineBarrier(commands.handle(), before.stages, after.stages, 0, 0, nullptr, 1, &barrier, 0, nullptr);
}

void order(HostVulkan& host, const Commands& commands, Side before, Side after) {
  auto barrier = structure<VkMemoryBarrier>(VK_STRUCTURE_TYPE_MEMORY_BARRIER);
  barrier.srcAccessMask = before.accesses;
  barrier.dstAccessMask = after.accesses;
  host.vk().CmdPipelineBarrier(commands.handle(), before.stages, after.stages, 0, 1, &barrier, 0, nullptr, 0, nullptr);
}

void copy(HostVulkan& host, const Commands& commands, VkBuffer from, VkBuffer to) {
  const VkBufferCopy region = {0, 0, Layout::kBytes};
  host.vk().CmdCopyBuffer(commands.handle(), from, to, 1, &region);
}

}  // namespace

TEST_CASE("async compute: ownership there and back, ordered by a timeline semaphore", "[vulkan][async]") {
  const bool two_families = GENERATE(false, true);
  const auto host = HostVulkan::create({.async = true, .two_families = two_families});
  if (host == nullptr) return;
  const uint32_t graphics = host->family(), compute = host->heed_family();
  INFO((graphics == compute ? "one queue family, " : "two queue families, ")
       << (host->queue() == host->heed_queue() ? "one queue" : "two queues"));
  if (two_families) REQUIRE(graphics != compute);
  Block block = make_block(*host);
  const vulkan::SyncNeeds needs = vulkan::sync_needs(block.plan);
  const Side reads = {needs.before_dst_stages, needs.before_dst_accesses};
  const Side writes = {needs.after_src_stages, needs.after_src_accesses};
  constexpr Side kNothingAfter = {VK_PIPELINE_STAGE_BOTTOM_OF_PIPE_BIT, 0};
  constexpr Side kCopied = {VK_PIPELINE_STAGE_TRANSFER_BIT, VK_ACCESS_TRANSFER_WRITE_BIT};
  constexpr Side kCopies = {VK_PIPELINE_STAGE_TRANSFER_BIT, VK_ACCESS_TRANSFER_READ_BIT};

  const HostVulkan::Memory staging = host->allocate(Layout::kBytes, kUsage),
                           back = host->allocate(Layout::kBytes, kUsage);
  const HostVulkan::Memory shared = host->allocate(Layout::kBytes, kUsage);  // VK_SHARING_MODE_EXCLUSIVE
  Timeline timeline(*host);
  uint64_t value = 0;
  for (int64_t tokens : {37, 2, 16}) {
    const Sample sample = make_sample(block.cpu_plan, 2, tokens, 1);
    const SampleInfo given(shared, {}, sample);
    write_inputs(staging, {}, sample);

    Commands upload(*host, graphics), attend(*host, compute), present(*host, graphics);
    copy(*host, upload, staging.buffer, shared.buffer);
    transfer(*host, upload, shared.buffer, graphics, compute, kCopied, kNothingAfter);

    transfer(*host, attend, shared.buffer, graphics, compute, {reads.stages, 0}, reads);
    REQUIRE(vulkan::record(block.plan, attend.handle(), given.info) == Status::Ok);
    transfer(*host, attend, shared.buffer, compute, graphics, writes, kNothingAfter);

    transfer(*host, present, shared.buffer, compute, graphics, {kCopies.stages, 0}, kCopies);
    copy(*host, present, shared.buffer, back.buffer);
    transfer(*host, present, back.buffer, graphics, graphics, kCopied,
             {VK_PIPELINE_STAGE_HOST_BIT, VK_ACCESS_HOST_READ_BIT});

    timeline.submit(host->queue(), upload, value, VK_PIPELINE_STAGE_TRANSFER_BIT);
    timeline.submit(host->heed_queue(), attend, value + 1, reads.stages);
    timeline.submit(host->queue(), present, value + 2, kCopies.stages);
    value += 3;
    timeline.wait(value);
    CHECK(outputs_differ(back, {}, sample) == "");
  }
}

TEST_CASE("sync_needs: what the plan reads and writes, in both forms", "[vulkan][async]") {
  const auto host = HostVulkan::create({});
  if (host == nullptr) return;
  Block block = make_block(*host);
  const vulkan::SyncNeeds needs = vulkan::sync_needs(block.plan);
  CHECK(needs.before.sType == VK_STRUCTURE_TYPE_MEMORY_BARRIER_2);
  CHECK(needs.before.srcStageMask == 0);
  CHECK(needs.before.dstStageMask == VK_PIPELINE_STAGE_2_COMPUTE_SHADER_BIT);
  CHECK(needs.before.dstAccessMask == (VK_ACCESS_2_SHADER_STORAGE_READ_BIT | VK_ACCESS_2_SHADER_STORAGE_WRITE_BIT));
  CHECK(needs.after.srcStageMask == VK_PIPELINE_STAGE_2_COMPUTE_SHADER_BIT);
  CHECK(needs.after.srcAccessMask == VK_ACCESS_2_SHADER_STORAGE_WRITE_BIT);
  CHECK(needs.after.dstStageMask == 0);
  CHECK(needs.before_dst_stages == VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT);
  CHECK(needs.before_dst_accesses == (VK_ACCESS_SHADER_READ_BIT | VK_ACCESS_SHADER_WRITE_BIT));
  CHECK(needs.after_src_stages == VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT);
  CHECK(needs.after_src_accesses == VK_ACCESS_SHADER_WRITE_BIT);

  // The plan reads only constants, and no input.
  Graph g;
  const float two[] = {1, 2};
  g.output("y", g.scale(g.constant("two", {2}, two), 2.0f));
  Plan plan = compiled(block.device, g);
  CHECK(vulkan::sync_needs(plan).before_dst_accesses == VK_ACCESS_SHADER_WRITE_BIT);
  // The kernel writes a byte by reading and writing its 32-bit word.
  Graph bytes;
  const uint8_t six[] = {1, 2, 3, 4, 5, 6};
  bytes.output("y", bytes.transpose(bytes.constant("six", {2, 3}, six), 0, 1));
  Plan byte_plan = compiled(block.device, bytes);
  const vulkan::SyncNeeds byte_needs = vulkan::sync_needs(byte_plan);
  CHECK(byte_needs.before_dst_accesses == (VK_ACCESS_SHADER_READ_BIT | VK_ACCESS_SHADER_WRITE_BIT));
  CHECK(byte_needs.before.dstAccessMask ==
        (VK_ACCESS_2_SHADER_STORAGE_READ_BIT | VK_ACCESS_2_SHADER_STORAGE_WRITE_BIT));
  CHECK(byte_needs.after_src_accesses == VK_ACCESS_SHADER_WRITE_BIT);
  CHECK(vulkan::sync_needs(block.cpu_plan).before.dstStageMask == 0);
  CHECK(vulkan::sync_needs(Plan()).after_src_stages == 0);
}

// An output of bytes begins in the middle of a buffer that an earlier copy wrote.
TEST_CASE("sync_needs: with the masks the layer is silent about outputs of bytes", "[vulkan][async]") {
  const auto host = HostVulkan::create({});
  if (host == nullptr) return;
  Block block = make_block(*host);
  Graph g;
  const uint8_t six[] = {1, 2, 3, 4, 5, 6};
  g.output("y", g.transpose(g.constant("six", {2, 3}, six), 0, 1));
  Plan plan = compiled(block.device, g);
  const vulkan::SyncNeeds needs = vulkan::sync_needs(plan);
  const HostVulkan::Memory from = host->allocate(Layout::kBytes, kUsage),
                           memory = host->allocate(Layout::kBytes, kUsage);
  Commands commands(*host, host->family());
  copy(*host, commands, from.buffer, memory.buffer);
  order(*host, commands, {VK_PIPELINE_STAGE_TRANSFER_BIT, VK_ACCESS_TRANSFER_WRITE_BIT},
        {needs.before_dst_stages, needs.before_dst_accesses});
  const vulkan::Buffer outputs[] = {{.name = "y", .buffer = memory.buffer, .offset = 4}};
  REQUIRE(vulkan::record(plan, commands.handle(), {.buffers = outputs}) == Status::Ok);
  REQUIRE(host->vk().EndCommandBuffer(commands.handle()) == VK_SUCCESS);
}

// The validation layer treats the emulated queue family as real.
TEST_CASE("async compute: a missing half of an ownership transfer is noticed", "[vulkan][async]") {
  const auto host = HostVulkan::create({.async = true, .two_families = true});
  if (host == nullptr) return;
  const HostVulkan::Memory memory = host->allocate(Layout::kBytes, kUsage);
  {
    Timeline timeline(*host);
    Commands acquire(*host, host->heed_family());
    transfer(*host, acquire, memory.buffer, host->family(), host->heed_family(), {VK_PIPELINE_STAGE_TRANSFER_BIT, 0},
             {VK_PIPELINE_STAGE_TRANSFER_BIT, VK_ACCESS_TRANSFER_READ_BIT});
    timeline.submit(host->heed_queue(), acquire, 0, VK_PIPELINE_STAGE_TRANSFER_BIT);
    timeline.wait(1);
  }
  const std::string text = host->take_validation();
  INFO(text);
  // Layers of 2023 have a message id of their own for this hazard.
  CHECK((has_message(text, "VUID-vkQueueSubmit-pSubmits-02207") ||
         has_message(text, "UNASSIGNED-VkBufferMemoryBarrier-buffer-00004")));
}

// The masks are exact: with fewer bits, the validation layer reports a hazard between the host's commands and heed's.
TEST_CASE("sync_needs: with the masks the layer is silent, without them it speaks", "[vulkan][async]") {
  const auto host = HostVulkan::create({});
  if (host == nullptr) return;
  Block block = make_block(*host);
  const vulkan::SyncNeeds needs = vulkan::sync_needs(block.plan);
  const Sample sample = make_sample(block.cpu_plan, 1, 9, 1);
  const HostVulkan::Memory from = host->allocate(Layout::kBytes, kUsage),
                           memory = host->allocate(Layout::kBytes, kUsage);
  const SampleInfo given(memory, {}, sample);
  struct Row {
    bool before, after;
    const char* hazard;
  };
  const Row rows[] = {
      {true, true, ""}, {false, true, "SYNC-HAZARD-READ-AFTER-WRITE"}, {true, false, "SYNC-HAZARD-READ-AFTER-WRITE"}};
  for (const Row& row : rows) {
    Commands commands(*host, host->family());
    copy(*host, commands, from.buffer, memory.buffer);
    if (row.before)
      order(*host, commands, {VK_PIPELINE_STAGE_TRANSFER_BIT, VK_ACCESS_TRANSFER_WRITE_BIT},
            {needs.before_dst_stages, needs.before_dst_accesses});
    REQUIRE(vulkan::record(block.plan, commands.handle(), given.info) == Status::Ok);
    if (row.after)
      order(*host, commands, {needs.after_src_stages, needs.after_src_accesses},
            {VK_PIPELINE_STAGE_TRANSFER_BIT, VK_ACCESS_TRANSFER_READ_BIT});
    copy(*host, commands, memory.buffer, from.buffer);
    REQUIRE(host->vk().EndCommandBuffer(commands.handle()) == VK_SUCCESS);
    const std::string text = host->take_validation();
    INFO("before " << row.before << ", after " << row.after << ": " << text);
    if (row.hazard[0] == '\0')
      CHECK(text == "");
    else
      CHECK(has_message(text, row.hazard));
  }
}

// Each Vulkan call that can fail is made to fail once. Also covers situations that software drivers never have: memory of a discrete GPU,
// non-coherent memory, and missing barriers.
#include <heed/vulkan_frames.hpp>

#include "vulkan/host_plan.hpp"

using namespace heed;
using namespace heed::test;

namespace {

const std::vector<int32_t> kIds = {4, 0, 2};

// The objects that the host owns and lends: buffers for scratch, weights, inputs and outputs, and a pipeline cache.
struct Lent {
  explicit Lent(HostVulkan& owner) : host(owner) {
    memory = host.allocate(65536, VK_BUFFER_USAGE_STORAGE_BUFFER_BIT | VK_BUFFER_USAGE_TRANSFER_DST_BIT);
    const auto info = vulkan::structure<VkPipelineCacheCreateInfo>(VK_STRUCTURE_TYPE_PIPELINE_CACHE_CREATE_INFO);
    REQUIRE(host.vk().CreatePipelineCache(host.device(), &info, nullptr, &cache) == VK_SUCCESS);
    std::memcpy(memory.mapped, kIds.data(), 12);
    std::memset(memory.mapped + kGuard, 0x5a, kWeights - kGuard);
  }
  ~Lent() { host.vk().DestroyPipelineCache(host.device(), cache, nullptr); }
  // Whether memory that heed must not write is unchanged.
  bool guarded() const {
    for (VkDeviceSize i = kGuard; i < kWeights; ++i)
      if (memory.mapped[i] != std::byte{0x5a}) return false;
    return true;
  }
  static constexpr VkDeviceSize kY = 4096, kGuard = 8192, kWeights = 16384, kScratch = 32768;
  HostVulkan& host;
  HostVulkan::Memory memory;
  VkPipelineCache cache = VK_NULL_HANDLE;
};

// Uses all of heed: weights in heed's memory and in the host's; a plan with its own scratch that runs, and one with the host's scratch that
// is recorded in two parts.
Status whole_life(HostVulkan& host, const Lent& lent, bool timestamps, bool lend_cache, std::vector<float>* y) {
  const Tensors tensors = small_weights();
  const Graph g = small_graph();
  vulkan::HostDevice lender = host.host_device();
  if (lend_cache) lender.pipeline_cache = lent.cache;
  Device device;
  Weights weights, placed;
  Plan plan, guest;
  Status status = vulkan::adopt(lender, &device);
  if (status == Status::Ok) status = device.upload(tensors.list(), &weights);
  if (status == Status::Ok)
    status = vulkan::upload(device, tensors.list(), {{lent.memory.buffer, Lent::kWeights}}, &placed);
  if (status == Status::Ok) status = device.compile(g, weights, &plan, {.timestamps = timestamps});
  if (status == Status::Ok)
    status = device.compile(g, placed, &guest, {.timestamps = timestamps, .host_scratch = true});
  vulkan::BufferNeeds needs;
  if (status == Status::Ok) status = vulkan::scratch_needs(guest, &needs);
  if (status == Status::Ok) status = vulkan::bind_scratch(guest, {lent.memory.buffer, Lent::kScratch});
  if (status == Status::Ok) status = plan.run({{"ids", kIds}, {"y", *y}});
  std::vector<PassTime> times;
  if (status == Status::Ok && timestamps) status = plan.timings(&times);

  const vulkan::Buffer buffers[] = {{"ids", lent.memory.buffer, 0, 12}, {"y", lent.memory.buffer, Lent::kY, 48}};
  vulkan::Cursor cursor;
  for (uint32_t i = 0; i < 2 && status == Status::Ok; ++i) {
    const VkCommandBuffer commands = host.begin();
    status = vulkan::record_some(guest, commands, {.buffers = buffers}, i == 0 ? 0.0 : 1e9, &cursor);
    host.end(commands);
    if (status == Status::Ok) host.submit_and_wait(commands);
  }
  if (status == Status::Ok) status = vulkan::take_faults(guest);
  if (status == Status::Ok && timestamps) status = guest.timings(&times);
  std::vector<std::byte> blob;
  return status == Status::Ok ? device.pipeline_cache(&blob) : status;
}

// The same graph without a GPU.
std::vector<float> on_cpu() {
  std::vector<float> y(12);
  const Device cpu = open_cpu({.threads = 1});
  Plan plan = compiled(cpu, small_graph(), uploaded(cpu, small_weights().list()));
  REQUIRE(plan.run({{"ids", kIds}, {"y", y}}) == Status::Ok);
  return y;
}

}  // namespace

// For every n the n-th call that can fail fails, with each error that drivers return. Two errors mean too little memory and take the same
// paths, so that the second one is tried at every third call only.
TEST_CASE("failures: whatever call fails, the failure is returned and nothing is left behind",
          "[vulkan][failure][slow]") {
  struct Row {
    VkResult error;
    Status status;
    const char* name;
    bool discrete;
    bool lend_cache;
    uint64_t step;
  };
  const Row rows[] = {
      {VK_ERROR_OUT_OF_DEVICE_MEMORY, Status::OutOfDeviceMemory, "VK_ERROR_OUT_OF_DEVICE_MEMORY", false, false, 1},
      {VK_ERROR_OUT_OF_HOST_MEMORY, Status::OutOfMemory, "VK_ERROR_OUT_OF_HOST_MEMORY", false, true, 3},
      {VK_ERROR_DEVICE_LOST, Status::DeviceLost, "VK_ERROR_DEVICE_LOST", true, true, 1}};
  const auto host = HostVulkan::create({});
  if (host == nullptr) return;
  const Lent lent(*host);
  for (const Row& row : rows) {
    pretend({.discrete = row.discrete, .non_coherent = row.discrete});
    std::vector<float> y(12);
    REQUIRE(whole_life(*host, lent, host->has_timestamps(), row.lend_cache, &y) == Status::Ok);
    const std::vector<float> good = y;
    std::map<std::string, uint32_t> failed;
    for (uint64_t call = 1;; call += row.step) {
      inject_failure(call, row.error);
      const Status status = whole_life(*host, lent, host->has_timestamps(), row.lend_cache, &y);
      const std::string function = injected_into();
      inject_failure(0, VK_SUCCESS);
      INFO("call " << call << ", " << function << ", " << row.name);
      if (function.empty()) {
        CHECK(status == Status::Ok);
        CHECK(call > 100);
        break;
      }
      ++failed[function];
      const std::string text = host->take_log();
      INFO(text);
      // heed continues without an object's name, may use another memory type, and repeats a failed wait.
      const bool waits = function == "WaitForFences" && row.error != VK_ERROR_DEVICE_LOST;
      const bool may_go_on = function == "SetDebugUtilsObjectNameEXT" || function == "AllocateMemory" || waits;
      if (!may_go_on || status != Status::Ok) {
        CHECK(status == row.status);
        CHECK_THAT(text, holds(row.name));
        CHECK_THAT(text, holds("vk" + function));
      }
      if (waits) CHECK(status == Status::Ok);
      if (waits) CHECK(y == good);
      REQUIRE(live_objects() == "");
      REQUIRE(foreign_destroys() == "");
      REQUIRE(lent.guarded());
      REQUIRE(host->host_blocks() == 0);
      REQUIRE(host->take_validation() == "");
      if (row.error == VK_ERROR_DEVICE_LOST) REQUIRE(difference(good.data(), on_cpu()) == "");
    }
    if (row.step == 1) {
      CHECK(failed["QueueSubmit"] == 3);  // two uploads, one run
      CHECK(failed["WaitForFences"] == 3);
      CHECK(failed["AllocateMemory"] >= 7);
      CHECK(failed["CreateBuffer"] >= 8);
      CHECK(failed["CreateComputePipelines"] >= 3);
    }
    // The device that the host lent still works.
    REQUIRE(whole_life(*host, lent, host->has_timestamps(), row.lend_cache, &y) == Status::Ok);
    CHECK(y == good);
  }
}

TEST_CASE("failures: a lost device is remembered, and the CPU goes on", "[vulkan][failure]") {
  const auto host = HostVulkan::create({});
  if (host == nullptr) return;
  const Tensors tensors = small_weights();
  std::vector<float> y(12);
  Device device = host->adopt();
  Weights weights = uploaded(device, tensors.list());
  Plan plan = compiled(device, small_graph(), weights);
  REQUIRE(plan.run({{"ids", kIds}, {"y", y}}) == Status::Ok);
  const std::vector<float> before = y;
  for (uint64_t call = 1;; ++call) {
    inject_failure(call, VK_ERROR_DEVICE_LOST);
    if (plan.run({{"ids", kIds}, {"y", y}}) == Status::DeviceLost) break;
    REQUIRE(call < 20);
  }
  CHECK_THAT(host->take_log(), holds("VK_ERROR_DEVICE_LOST"));
  reset_calls();
  CHECK(plan.run({{"ids", kIds}, {"y", y}}) == Status::DeviceLost);
  CHECK(device.upload(tensors.list(), &weights) == Status::DeviceLost);
  CHECK(device.compile(small_graph(), weights, &plan) == Status::DeviceLost);
  const VkCommandBuffer commands = host->begin();
  CHECK(vulkan::record(plan, commands, {}) == Status::DeviceLost);
  CHECK(calls_of_all() == 0);
  CHECK_THAT(host->take_log(), holds("was lost earlier"));

  CHECK(difference(before.data(), on_cpu()) == "");
}

TEST_CASE("failures: run copies where host and GPU have no memory in common", "[vulkan][run]") {
  const auto host = HostVulkan::create({});
  if (host == nullptr) return;
  pretend({.discrete = true, .non_coherent = true});
  Block block = make_block(*host);
  CHECK(block.device.info().kind == DeviceKind::DiscreteGpu);
  reset_calls();
  for (int64_t tokens : {37, 3, 20})
    CHECK(run_differs(block.plan, make_sample(block.cpu_plan, 2, tokens, static_cast<uint32_t>(tokens))) == "");
  CHECK(calls("CmdCopyBuffer") == 9);
  CHECK(calls("FlushMappedMemoryRanges") == 3);
  CHECK(calls("InvalidateMappedMemoryRanges") == 3);
}

TEST_CASE("failures: without heed's barriers, the validation layer would speak", "[vulkan][record]") {
  const auto host = HostVulkan::create({});
  if (host == nullptr) return;
  Graph g;
  g.output("y", g.softmax(g.softmax(g.input("x", {4, 64}))));
  Plan plan = compiled(host->adopt(), g);
  const HostVulkan::Memory memory = host->allocate(4096);
  const vulkan::Buffer buffers[] = {{"x", memory.buffer, 0}, {"y", memory.buffer, 2048}};
  for (const bool without : {false, true}) {
    pretend({.no_barriers = without});
    const VkCommandBuffer commands = host->begin();
    REQUIRE(vulkan::record(plan, commands, {.buffers = buffers}) == Status::Ok);
    host->end(commands);
    const std::string text = host->take_validation();
    CHECK(has_message(text, "SYNC-HAZARD-READ-AFTER-WRITE") == without);
    if (!without) CHECK(text == "");
  }
}

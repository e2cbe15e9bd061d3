// What happens when Vulkan says no: every call that can fail fails once. And what software drivers never
// show: memory of a discrete GPU, memory that is not coherent, and barriers that are missing.
#include <cstring>
#include <heed/vulkan_frames.hpp>
#include <map>

#include "catch.hpp"
#include "vulkan/host_plan.hpp"
#include "vulkan/host_vulkan.hpp"

using namespace heed;
using namespace heed::test;

namespace {

// Weights, a constant, scratch, an embedding, timestamps: every kind of object that a plan owns.
Graph small_graph() {
  Graph g;
  const float ones[] = {1, 1, 1, 1};
  const Tensor rows = g.embedding(g.weight("table", {5, 4}), g.input("ids", {3}, DType::I32));
  g.output("y", g.layernorm(g.softmax(g.add(rows, g.constant("ones", {4}, ones))), {}, {}, 1e-5f));
  return g;
}

Tensors small_weights() {
  Tensors tensors;
  tensors.add("table", {5, 4}, 1);
  return tensors;
}

const std::vector<int32_t> kIds = {4, 0, 2};

// What the host owns and lends: buffers for scratch, weights, inputs and outputs, and a pipeline cache.
struct Lent {
  explicit Lent(HostVulkan& owner) : host(owner) {
    memory = host.allocate(65536, VK_BUFFER_USAGE_STORAGE_BUFFER_BIT | VK_BUFFER_USAGE_TRANSFER_DST_BIT);
    const auto info = vulkan::structure<VkPipelineCacheCreateInfo>(VK_STRUCTURE_TYPE_PIPELINE_CACHE_CREATE_INFO);
    REQUIRE(host.vk().CreatePipelineCache(host.device(), &info, nullptr, &cache) == VK_SUCCESS);
    std::memcpy(memory.mapped, kIds.data(), 12);
    std::memset(memory.mapped + kGuard, 0x5a, kWeights - kGuard);
  }
  ~Lent() {
    host.vk().DestroyPipelineCache(host.device(), cache, nullptr);
    host.free(memory);
  }
  // Where nothing is to be written.
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

// Weights of heed's and of the host's, a plan with its own scratch that runs, and one with the host's that is
// recorded in two parts: all that heed does.
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
  const Tensors tensors = small_weights();
  Device cpu;
  Weights weights;
  Plan plan;
  std::vector<float> y(12);
  REQUIRE(Device::open({.select = "cpu", .threads = 1}, &cpu) == Status::Ok);
  REQUIRE(cpu.upload(tensors.list(), &weights) == Status::Ok);
  REQUIRE(cpu.compile(small_graph(), weights, &plan) == Status::Ok);
  REQUIRE(plan.run({{"ids", kIds}, {"y", y}}) == Status::Ok);
  return y;
}

}  // namespace

// The n-th call that can fail does, for every n, with each error that drivers give.
TEST_CASE("failures: whatever call fails, the failure is returned and nothing is left behind", "[vulkan][failure]") {
  struct Row {
    VkResult error;
    Status status;
    const char* name;
    bool discrete;
    bool lend_cache;
  };
  const Row rows[] = {
      {VK_ERROR_OUT_OF_DEVICE_MEMORY, Status::OutOfDeviceMemory, "VK_ERROR_OUT_OF_DEVICE_MEMORY", false, false},
      {VK_ERROR_OUT_OF_HOST_MEMORY, Status::OutOfMemory, "VK_ERROR_OUT_OF_HOST_MEMORY", false, true},
      {VK_ERROR_DEVICE_LOST, Status::DeviceLost, "VK_ERROR_DEVICE_LOST", true, true}};
  const auto host = HostVulkan::create({});
  if (host == nullptr) return;
  {
    const Lent lent(*host);
    for (const Row& row : rows) {
      pretend({.discrete = row.discrete, .non_coherent = row.discrete});
      std::vector<float> y(12);
      REQUIRE(whole_life(*host, lent, host->has_timestamps(), row.lend_cache, &y) == Status::Ok);
      const std::vector<float> good = y;
      std::map<std::string, uint32_t> failed;
      for (uint64_t call = 1;; ++call) {
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
        // A name is no loss, another memory type may do, and a wait that failed is asked again.
        const bool waits = function == "WaitForFences" && row.error != VK_ERROR_DEVICE_LOST;
        const bool may_go_on = function == "SetDebugUtilsObjectNameEXT" || function == "AllocateMemory" || waits;
        if (!may_go_on || status != Status::Ok) {
          CHECK(status == row.status);
          CHECK(text.find(row.name) != std::string::npos);
          CHECK(text.find("vk" + function) != std::string::npos);
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
      CHECK(failed["QueueSubmit"] == 3);  // two uploads, one run
      CHECK(failed["WaitForFences"] == 3);
      CHECK(failed["AllocateMemory"] >= 7);
      CHECK(failed["CreateBuffer"] >= 8);
      CHECK(failed["CreateComputePipelines"] >= 3);
      // The device that the host lent still serves.
      REQUIRE(whole_life(*host, lent, host->has_timestamps(), row.lend_cache, &y) == Status::Ok);
      CHECK(y == good);
    }
  }
  CHECK(host->take_validation() == "");
}

TEST_CASE("failures: a lost device is remembered, and the CPU goes on", "[vulkan][failure]") {
  const auto host = HostVulkan::create({});
  if (host == nullptr) return;
  {
    Tensors tensors;
    tensors.add("table", {5, 4}, 1);
    Device device, cpu;
    Weights weights, cpu_weights;
    Plan plan, cpu_plan;
    const std::vector<int32_t> ids = {4, 0, 2};
    std::vector<float> y(12);
    REQUIRE(vulkan::adopt(host->host_device(), &device) == Status::Ok);
    REQUIRE(device.upload(tensors.list(), &weights) == Status::Ok);
    REQUIRE(device.compile(small_graph(), weights, &plan) == Status::Ok);
    REQUIRE(plan.run({{"ids", ids}, {"y", y}}) == Status::Ok);
    const std::vector<float> before = y;
    for (uint64_t call = 1;; ++call) {
      inject_failure(call, VK_ERROR_DEVICE_LOST);
      if (plan.run({{"ids", ids}, {"y", y}}) == Status::DeviceLost) break;
      REQUIRE(call < 20);
    }
    CHECK(host->take_log().find("VK_ERROR_DEVICE_LOST") != std::string::npos);
    reset_calls();
    CHECK(plan.run({{"ids", ids}, {"y", y}}) == Status::DeviceLost);
    CHECK(device.upload(tensors.list(), &weights) == Status::DeviceLost);
    CHECK(device.compile(small_graph(), weights, &plan) == Status::DeviceLost);
    const VkCommandBuffer commands = host->begin();
    CHECK(vulkan::record(plan, commands, {}) == Status::DeviceLost);
    CHECK(calls_of_all() == 0);
    CHECK(host->take_log().find("was lost earlier") != std::string::npos);

    REQUIRE(Device::open({.select = "cpu"}, &cpu) == Status::Ok);
    REQUIRE(cpu.upload(tensors.list(), &cpu_weights) == Status::Ok);
    REQUIRE(cpu.compile(small_graph(), cpu_weights, &cpu_plan) == Status::Ok);
    REQUIRE(cpu_plan.run({{"ids", ids}, {"y", y}}) == Status::Ok);
    CHECK(difference(before.data(), y) == "");
  }
  CHECK(host->host_blocks() == 0);
  CHECK(host->take_validation() == "");
}

TEST_CASE("failures: run copies where host and GPU have no memory in common", "[vulkan][run]") {
  const auto host = HostVulkan::create({});
  if (host == nullptr) return;
  pretend({.discrete = true, .non_coherent = true});
  {
    const Tensors weights = block_weights();
    Device device, cpu;
    Weights device_weights, cpu_weights;
    Plan plan, cpu_plan;
    REQUIRE(vulkan::adopt(host->host_device(), &device) == Status::Ok);
    CHECK(device.info().kind == DeviceKind::DiscreteGpu);
    REQUIRE(device.upload(weights.list(), &device_weights) == Status::Ok);
    REQUIRE(device.compile(block_graph(), device_weights, &plan) == Status::Ok);
    REQUIRE(Device::open({.select = "cpu"}, &cpu) == Status::Ok);
    REQUIRE(cpu.upload(weights.list(), &cpu_weights) == Status::Ok);
    REQUIRE(cpu.compile(block_graph(), cpu_weights, &cpu_plan) == Status::Ok);
    reset_calls();
    for (int64_t tokens : {37, 3, 20}) {
      const Sample sample = make_sample(cpu_plan, 2, tokens, static_cast<uint32_t>(tokens));
      std::vector<float> y(sample.y.size());
      REQUIRE(plan.run({{"x", sample.x}, {"padding", sample.padding}, {"y", y}}, {{"batch", 2}, {"tokens", tokens}}) ==
              Status::Ok);
      CHECK(difference(y.data(), sample.y) == "");
    }
    CHECK(calls("CmdCopyBuffer") == 9);
    CHECK(calls("FlushMappedMemoryRanges") == 3);
    CHECK(calls("InvalidateMappedMemoryRanges") == 3);
  }
  CHECK(host->take_validation() == "");
}

TEST_CASE("failures: without heed's barriers, the validation layer would speak", "[vulkan][record]") {
  const auto host = HostVulkan::create({});
  if (host == nullptr) return;
  {
    Device device;
    Plan plan;
    REQUIRE(vulkan::adopt(host->host_device(), &device) == Status::Ok);
    Graph g;
    g.output("y", g.softmax(g.softmax(g.input("x", {4, 64}))));
    REQUIRE(device.compile(g, {}, &plan) == Status::Ok);
    const HostVulkan::Memory memory = host->allocate(4096);
    const vulkan::Buffer buffers[] = {{"x", memory.buffer, 0}, {"y", memory.buffer, 2048}};
    for (const bool without : {false, true}) {
      pretend({.no_barriers = without});
      const VkCommandBuffer commands = host->begin();
      REQUIRE(vulkan::record(plan, commands, {.buffers = buffers}) == Status::Ok);
      host->end(commands);
      const std::string text = host->take_validation();
      CHECK((text.find("SYNC-HAZARD-READ-AFTER-WRITE") != std::string::npos) == without);
      if (!without) CHECK(text == "");
    }
    host->free(memory);
  }
  CHECK(host->take_validation() == "");
}

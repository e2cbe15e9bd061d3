// What happens when Vulkan says no: every call that can fail fails once. And what software drivers never
// show: memory of a discrete GPU, memory that is not coherent, and barriers that are missing.
#include <cstring>

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

Status whole_life(HostVulkan& host, bool timestamps) {
  Tensors tensors;
  tensors.add("table", {5, 4}, 1);
  Device device;
  Weights weights;
  Plan plan;
  Status status = vulkan::adopt(host.host_device(), &device);
  if (status == Status::Ok) status = device.upload(tensors.list(), &weights);
  if (status == Status::Ok)
    status = device.compile(small_graph(), weights, &plan, {.timestamps = timestamps});
  const std::vector<int32_t> ids = {4, 0, 2};
  std::vector<float> y(12);
  if (status == Status::Ok) status = plan.run({{"ids", ids}, {"y", y}});
  std::vector<PassTime> times;
  if (status == Status::Ok && timestamps) status = plan.timings(&times);
  std::vector<std::byte> blob;
  if (status == Status::Ok) status = device.pipeline_cache(&blob);
  return status;
}

}  // namespace

TEST_CASE("failures: whatever call fails, the failure is returned and nothing is left behind",
          "[vulkan][failure]") {
  const auto host = HostVulkan::create({});
  if (host == nullptr) return;
  for (const bool discrete : {false, true}) {
    pretend({.discrete = discrete, .non_coherent = discrete});
    REQUIRE(whole_life(*host, host->has_timestamps()) == Status::Ok);
    for (uint64_t call = 1;; ++call) {
      inject_failure(call, VK_ERROR_OUT_OF_DEVICE_MEMORY);
      const Status status = whole_life(*host, host->has_timestamps());
      const std::string function = injected_into();
      inject_failure(0, VK_SUCCESS);
      INFO("call " << call << ", " << function);
      if (function.empty()) {
        CHECK(status == Status::Ok);
        CHECK(call > 50);
        break;
      }
      const std::string text = host->take_log();
      INFO(text);
      // A name is no loss, and another memory type may do.
      const bool may_go_on = function == "SetDebugUtilsObjectNameEXT" || function == "AllocateMemory";
      if (!may_go_on || status != Status::Ok) {
        CHECK(status == Status::OutOfDeviceMemory);
        CHECK(text.find("VK_ERROR_OUT_OF_DEVICE_MEMORY") != std::string::npos);
        CHECK(text.find("vk" + function) != std::string::npos);
      }
      REQUIRE(host->host_blocks() == 0);
      REQUIRE(host->take_validation() == "");
    }
  }
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
      REQUIRE(plan.run({{"x", sample.x}, {"padding", sample.padding}, {"y", y}},
                       {{"batch", 2}, {"tokens", tokens}}) == Status::Ok);
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

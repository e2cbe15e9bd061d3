// When pipelines are made: by compile, by the host's threads, or in the background.
#include <atomic>
#include <chrono>
#include <set>
#include <thread>

#include "catch.hpp"
#include "vulkan/host_plan.hpp"
#include "vulkan/host_vulkan.hpp"

using namespace heed;
using namespace heed::test;

namespace {

struct Compiled {
  Device device, cpu;
  Weights weights, cpu_weights;
  Plan plan, cpu_plan;
};

// `counted`: through the table of counters, which only one thread may use.
void compile_block(HostVulkan& host, PipelineCreation pipelines, bool counted, Compiled* block) {
  vulkan::HostDevice host_device = host.host_device();
  if (!counted) {
    host_device.get_instance_proc_addr = host.vk().GetInstanceProcAddr;
    host_device.allocator = nullptr;
  }
  const Tensors weights = block_weights();
  REQUIRE(vulkan::adopt(host_device, &block->device) == Status::Ok);
  REQUIRE(block->device.upload(weights.list(), &block->weights) == Status::Ok);
  reset_calls();
  REQUIRE(block->device.compile(block_graph(), block->weights, &block->plan, {.pipelines = pipelines}) == Status::Ok);
  REQUIRE(Device::open({.select = "cpu"}, &block->cpu) == Status::Ok);
  REQUIRE(block->cpu.upload(weights.list(), &block->cpu_weights) == Status::Ok);
  REQUIRE(block->cpu.compile(block_graph(), block->cpu_weights, &block->cpu_plan) == Status::Ok);
}

std::string run_differs(Compiled& block) {
  const Sample sample = make_sample(block.cpu_plan, 2, 17, 5);
  std::vector<float> y(sample.y.size());
  REQUIRE(block.plan.run({{"x", sample.x}, {"padding", sample.padding}, {"y", y}}, {{"batch", 2}, {"tokens", 17}}) ==
          Status::Ok);
  return difference(y.data(), sample.y);
}

}  // namespace

TEST_CASE("pipelines: listed before they are made, and made by the host when it likes", "[vulkan][pipelines]") {
  const auto host = HostVulkan::create({});
  if (host == nullptr) return;
  {
    Compiled block;
    compile_block(*host, PipelineCreation::Deferred, true, &block);
    CHECK(calls("CreateComputePipelines") == 0);
    CHECK(calls("CreateShaderModule") == 0);
    const std::vector<PipelineInfo> list = block.plan.pipelines();
    REQUIRE(list.size() == block.plan.pipeline_count());
    REQUIRE(list.size() >= 3);
    std::set<std::string> names;
    for (const PipelineInfo& pipeline : list) {
      CHECK(names.insert(pipeline.name).second);
      CHECK_FALSE(pipeline.ready);
    }
    CHECK_FALSE(block.plan.ready());

    const VkCommandBuffer commands = host->begin();
    reset_calls();
    CHECK(vulkan::record(block.plan, commands, {}) == Status::NotReady);
    CHECK(calls_of_all() == 0);
    CHECK(host->take_log().find("prepare") != std::string::npos);
    host->end(commands);

    CHECK(block.plan.prepare(block.plan.pipeline_count()) == Status::InvalidArgument);
    CHECK(host->take_log().find("prepare") != std::string::npos);
    for (uint32_t i = 0; i < list.size(); ++i) {
      CHECK_FALSE(block.plan.ready());
      REQUIRE(block.plan.prepare(i) == Status::Ok);
      REQUIRE(block.plan.prepare(i) == Status::Ok);
      CHECK(block.plan.pipelines()[i].ready);
    }
    CHECK(calls("CreateComputePipelines") == list.size());
    CHECK(block.plan.ready());

    Plan again;  // shares all of them
    REQUIRE(block.device.compile(block_graph(), block.weights, &again, {.pipelines = PipelineCreation::Deferred}) ==
            Status::Ok);
    CHECK(again.ready());
    CHECK(calls("CreateComputePipelines") == list.size());
    CHECK(run_differs(block) == "");
  }
  CHECK(host->host_blocks() == 0);
  CHECK(host->take_validation() == "");
  CHECK(host->take_log() == "");
}

TEST_CASE("pipelines: many threads prepare one plan while another thread compiles", "[vulkan][pipelines]") {
  const auto host = HostVulkan::create({});
  if (host == nullptr) return;
  for (int round = 0; round < 3; ++round) {
    Compiled block;
    compile_block(*host, PipelineCreation::Deferred, false, &block);
    std::vector<std::thread> threads;
    std::atomic<uint32_t> failures{0};
    for (uint32_t t = 0; t < 6; ++t)
      threads.emplace_back([&, t] {
        const uint32_t count = block.plan.pipeline_count();
        for (uint32_t i = 0; i < count; ++i) failures += block.plan.prepare((i + t) % count) != Status::Ok;
      });
    Plan other;
    CHECK(block.device.compile(block_graph(), block.weights, &other) == Status::Ok);
    for (std::thread& thread : threads) thread.join();
    CHECK(failures == 0);
    CHECK(block.plan.ready());
    CHECK(run_differs(block) == "");
  }
  CHECK(host->take_validation() == "");
  CHECK(host->take_log() == "");
}

TEST_CASE("pipelines: made in the background, or by a run that cannot wait", "[vulkan][pipelines]") {
  const auto host = HostVulkan::create({});
  if (host == nullptr) return;
  {
    Compiled background;
    compile_block(*host, PipelineCreation::Background, false, &background);
    const auto start = std::chrono::steady_clock::now();
    while (!background.plan.ready() && std::chrono::steady_clock::now() - start < std::chrono::seconds(60))
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    CHECK(background.plan.ready());
    CHECK(run_differs(background) == "");
    Compiled dropped;  // a plan that goes while its thread is at work
    compile_block(*host, PipelineCreation::Background, false, &dropped);
    dropped.plan = {};
    Compiled deferred;
    compile_block(*host, PipelineCreation::Deferred, false, &deferred);
    CHECK(run_differs(deferred) == "");
    CHECK(deferred.plan.ready());
  }
  CHECK(host->host_blocks() == 0);
  CHECK(host->take_validation() == "");
  CHECK(host->take_log() == "");
}

TEST_CASE("pipelines: one that cannot be made is told, and can be tried again", "[vulkan][pipelines]") {
  const auto host = HostVulkan::create({});
  if (host == nullptr) return;
  {
    Compiled block;
    compile_block(*host, PipelineCreation::Deferred, true, &block);
    for (const uint64_t call : {1, 2}) {  // the shader module, the pipeline
      inject_failure(call, VK_ERROR_OUT_OF_DEVICE_MEMORY);
      CHECK(block.plan.prepare(0) == Status::OutOfDeviceMemory);
      CHECK(host->take_log().find("VK_ERROR_OUT_OF_DEVICE_MEMORY") != std::string::npos);
      CHECK_FALSE(block.plan.pipelines()[0].ready);
    }
    CHECK(block.plan.prepare(0) == Status::Ok);
    CHECK(block.plan.pipelines()[0].ready);
  }
  CHECK(host->host_blocks() == 0);
  CHECK(host->take_validation() == "");
}

TEST_CASE("pipelines: a plan of the CPU has none and is ready", "[pipelines]") {
  Device cpu;
  Plan plan;
  CHECK_FALSE(plan.ready());
  CHECK(plan.prepare(0) == Status::InvalidArgument);
  REQUIRE(Device::open({.select = "cpu"}, &cpu) == Status::Ok);
  Graph g;
  g.output("y", g.softmax(g.input("x", {3, 5})));
  REQUIRE(cpu.compile(g, {}, &plan, {.pipelines = PipelineCreation::Deferred}) == Status::Ok);
  CHECK(plan.pipeline_count() == 0);
  CHECK(plan.pipelines().empty());
  CHECK(plan.ready());
  CHECK(plan.prepare(0) == Status::InvalidArgument);
}

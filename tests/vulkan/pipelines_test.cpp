// Pipelines are created by compile, by the host's threads, or in the background.
#include <atomic>
#include <chrono>
#include <thread>

#include "vulkan/host_plan.hpp"

using namespace heed;
using namespace heed::test;

namespace {

// With `counted` the device uses the table of counters, which only one thread may use.
Block block_with(HostVulkan& host, PipelineCreation pipelines, bool counted) {
  vulkan::HostDevice given = host.host_device();
  if (!counted) {
    given.get_instance_proc_addr = host.vk().GetInstanceProcAddr;
    given.allocator = nullptr;
  }
  reset_calls();
  return make_block(given, {.pipelines = pipelines});
}

std::string run_differs(Block& block) { return run_differs(block.plan, make_sample(block.cpu_plan, 2, 17, 5)); }

}  // namespace

TEST_CASE("pipelines: listed before they are made, and made by the host when it likes", "[vulkan][pipelines]") {
  const auto host = HostVulkan::create({});
  if (host == nullptr) return;
  Block block = block_with(*host, PipelineCreation::Deferred, true);
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
  CHECK_THAT(host->take_log(), holds("prepare"));
  host->end(commands);

  host->refused(block.plan.prepare(block.plan.pipeline_count()), Status::InvalidArgument, "prepare");
  for (uint32_t i = 0; i < list.size(); ++i) {
    CHECK_FALSE(block.plan.ready());
    REQUIRE(block.plan.prepare(i) == Status::Ok);
    REQUIRE(block.plan.prepare(i) == Status::Ok);
    CHECK(block.plan.pipelines()[i].ready);
  }
  CHECK(calls("CreateComputePipelines") == list.size());
  CHECK(block.plan.ready());

  Plan again = compiled(block.device, block_graph(), block.weights, {.pipelines = PipelineCreation::Deferred});
  CHECK(again.ready());
  CHECK(calls("CreateComputePipelines") == list.size());
  CHECK(run_differs(block) == "");
}

TEST_CASE("pipelines: many threads prepare one plan while another thread compiles", "[vulkan][pipelines]") {
  const auto host = HostVulkan::create({});
  if (host == nullptr) return;
  for (int round = 0; round < 3; ++round) {
    Block block = block_with(*host, PipelineCreation::Deferred, false);
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
}

TEST_CASE("pipelines: made in the background, or by a run that cannot wait", "[vulkan][pipelines]") {
  const auto host = HostVulkan::create({});
  if (host == nullptr) return;
  Block background = block_with(*host, PipelineCreation::Background, false);
  const auto start = std::chrono::steady_clock::now();
  while (!background.plan.ready() && std::chrono::steady_clock::now() - start < std::chrono::seconds(60))
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  CHECK(background.plan.ready());
  CHECK(run_differs(background) == "");
  Block dropped = block_with(*host, PipelineCreation::Background, false);  // destroys a plan while its thread works
  dropped.plan = {};
  Block deferred = block_with(*host, PipelineCreation::Deferred, false);
  CHECK(run_differs(deferred) == "");
  CHECK(deferred.plan.ready());
}

TEST_CASE("pipelines: one that cannot be made is told, and can be tried again", "[vulkan][pipelines]") {
  const auto host = HostVulkan::create({});
  if (host == nullptr) return;
  Block block = block_with(*host, PipelineCreation::Deferred, true);
  for (const uint64_t call : {1, 2}) {  // allocations for the shader module and the pipeline
    inject_failure(call, VK_ERROR_OUT_OF_DEVICE_MEMORY);
    host->refused(block.plan.prepare(0), Status::OutOfDeviceMemory, "VK_ERROR_OUT_OF_DEVICE_MEMORY");
    CHECK_FALSE(block.plan.pipelines()[0].ready);
  }
  CHECK(block.plan.prepare(0) == Status::Ok);
  CHECK(block.plan.pipelines()[0].ready);
}

TEST_CASE("pipelines: a plan of the CPU has none and is ready", "[pipelines]") {
  Plan plan;
  CHECK_FALSE(plan.ready());
  CHECK(plan.prepare(0) == Status::InvalidArgument);
  Device cpu = open_cpu();
  Graph g;
  g.output("y", g.softmax(g.input("x", {3, 5})));
  REQUIRE(cpu.compile(g, {}, &plan, {.pipelines = PipelineCreation::Deferred}) == Status::Ok);
  CHECK(plan.pipeline_count() == 0);
  CHECK(plan.pipelines().empty());
  CHECK(plan.ready());
  CHECK(plan.prepare(0) == Status::InvalidArgument);
}

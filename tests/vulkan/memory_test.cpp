// Scratch and weights in the host's buffers; limits and budgets.
#include <cstring>

#include "catch.hpp"
#include "vulkan/host_plan.hpp"
#include "vulkan/host_vulkan.hpp"

using namespace heed;
using namespace heed::test;

namespace {

// Two plans of one device that need scratch.
Graph long_graph(int64_t rows) {
  Graph g;
  g.output("y", g.softmax(g.layernorm(g.softmax(g.input("x", {rows, 33})), {}, {}, 1e-5f)));
  return g;
}

std::vector<float> on_cpu(const Graph& g, const std::vector<float>& x) {
  Device cpu;
  Plan plan;
  std::vector<float> y(x.size());
  REQUIRE(Device::open({.select = "cpu"}, &cpu) == Status::Ok);
  REQUIRE(cpu.compile(g, {}, &plan) == Status::Ok);
  REQUIRE(plan.run({{"x", x}, {"y", y}}) == Status::Ok);
  return y;
}

uint32_t types_of(HostVulkan& host, VkBuffer buffer) {
  VkMemoryRequirements needs = {};
  host.vk().GetBufferMemoryRequirements(host.device(), buffer, &needs);
  return needs.memoryTypeBits;
}

}  // namespace

TEST_CASE("scratch: several plans share one place in the host's buffer", "[vulkan][scratch]") {
  const auto host = HostVulkan::create({});
  if (host == nullptr) return;
  {
    Device device;
    REQUIRE(vulkan::adopt(host->host_device(), &device) == Status::Ok);
    const Graph graphs[] = {long_graph(40), long_graph(7)};
    Plan plans[2];
    vulkan::BufferNeeds needs[2];
    for (int i : {0, 1}) {
      reset_calls();
      REQUIRE(device.compile(graphs[i], {}, &plans[i], {.host_scratch = true}) == Status::Ok);
      CHECK(calls("AllocateMemory") == 0);
      REQUIRE(vulkan::scratch_needs(plans[i], &needs[i]) == Status::Ok);
      CHECK(calls("AllocateMemory") == 0);
      CHECK(needs[i].bytes == plans[i].scratch_bytes());
      CHECK(needs[i].bytes >= 4u * 33 * (i == 0 ? 40 : 7));
    }
    const VkDeviceSize at = 3 * needs[0].alignment, bytes = at + std::max(needs[0].bytes, needs[1].bytes);
    const HostVulkan::Memory scratch = host->allocate(bytes, needs[0].usage);
    CHECK((needs[0].memory_type_bits & types_of(*host, scratch.buffer)) == needs[0].memory_type_bits);
    CHECK(needs[0].memory_type_bits != 0);
    // What lies before the range must stay.
    std::memset(scratch.mapped, 0x5a, bytes);

    const HostVulkan::Memory io = host->allocate(65536);
    const std::vector<float> x[] = {pattern(40 * 33, 1), pattern(7 * 33, 2)};
    std::memcpy(io.mapped, x[0].data(), x[0].size() * 4);
    std::memcpy(io.mapped + 16384, x[1].data(), x[1].size() * 4);
    const vulkan::Buffer buffers[2][2] = {{{"x", io.buffer, 0}, {"y", io.buffer, 32768}},
                                          {{"x", io.buffer, 16384}, {"y", io.buffer, 49152}}};
    VkCommandBuffer commands = host->begin();
    CHECK(vulkan::record(plans[0], commands, {.buffers = buffers[0]}) == Status::MissingBuffer);
    CHECK(host->take_log().find("bind_scratch gives it") != std::string::npos);
    std::vector<float> unused(x[0].size());
    CHECK(plans[0].run({{"x", x[0]}, {"y", unused}}) == Status::MissingBuffer);
    host->take_log();

    // Bound twice: the first place is left again.
    REQUIRE(vulkan::bind_scratch(plans[0], {scratch.buffer, 0}) == Status::Ok);
    for (const Plan& plan : plans) REQUIRE(vulkan::bind_scratch(plan, {scratch.buffer, at, bytes - at}) == Status::Ok);
    // Turn about in one command buffer: heed's own barriers must keep them apart.
    for (uint32_t turn = 0; turn < 4; ++turn)
      REQUIRE(vulkan::record(plans[turn % 2], commands, {.buffers = buffers[turn % 2], .slot = turn / 2}) ==
              Status::Ok);
    host->end(commands);
    host->submit_and_wait(commands);
    for (int i : {0, 1}) {
      const auto* y = reinterpret_cast<const float*>(io.mapped + (i == 0 ? 32768 : 49152));
      CHECK(difference(y, on_cpu(graphs[i], x[i])) == "");
    }
    size_t touched = 0;
    for (VkDeviceSize i = 0; i < at; ++i) touched += scratch.mapped[i] != std::byte{0x5a};
    CHECK(touched == 0);
    REQUIRE(plans[0].run({{"x", x[0]}, {"y", unused}}) == Status::Ok);
    CHECK(difference(unused.data(), on_cpu(graphs[0], x[0])) == "");
    plans[0] = plans[1] = {};
    host->free(scratch);
    host->free(io);
  }
  CHECK(live_objects() == "");
  CHECK(foreign_destroys() == "");
  CHECK(host->take_validation() == "");
  CHECK(host->take_log() == "");
}

TEST_CASE("scratch: mistakes are named, and the plan keeps what it had", "[vulkan][scratch]") {
  const auto host = HostVulkan::create({});
  if (host == nullptr) return;
  {
    Device device, cpu;
    Plan plan, own, on_cpu, without;
    const Graph g = long_graph(9);
    REQUIRE(vulkan::adopt(host->host_device(), &device) == Status::Ok);
    REQUIRE(device.compile(g, {}, &plan, {.host_scratch = true}) == Status::Ok);
    REQUIRE(device.compile(g, {}, &own) == Status::Ok);
    REQUIRE(Device::open({.select = "cpu"}, &cpu) == Status::Ok);
    REQUIRE(cpu.compile(g, {}, &on_cpu, {.host_scratch = true}) == Status::Ok);
    vulkan::BufferNeeds needs;
    REQUIRE(vulkan::scratch_needs(own, &needs) == Status::Ok);
    CHECK(needs.bytes == own.scratch_bytes());
    REQUIRE(vulkan::scratch_needs(plan, &needs) == Status::Ok);
    const HostVulkan::Memory memory = host->allocate(needs.bytes + needs.alignment);
    const auto refuses = [&](const Plan& to, const vulkan::BufferRange& range, Status status, const std::string& part) {
      CHECK(vulkan::bind_scratch(to, range) == status);
      const std::string text = host->take_log();
      INFO(text << " should hold " << part);
      CHECK(text.find(part) != std::string::npos);
    };
    const std::string bytes = std::to_string(needs.bytes);
    refuses(plan, {}, Status::InvalidArgument, "the VkBuffer is null");
    refuses(plan, {memory.buffer, 4}, Status::InvalidArgument, "offset 4 is no multiple of");
    refuses(plan, {memory.buffer, 0, needs.bytes - 1}, Status::BufferTooSmall,
            bytes + " bytes are needed, " + std::to_string(needs.bytes - 1) + " were given");
    refuses(plan, {memory.buffer, 1u << 20}, Status::BufferTooSmall, bytes + " bytes are needed, 0 were given");
    refuses(own, {memory.buffer}, Status::InvalidArgument, "has its own scratch");
    refuses(on_cpu, {memory.buffer}, Status::InvalidArgument, "");
    refuses(Plan(), {memory.buffer}, Status::InvalidArgument, "");
    CHECK(vulkan::scratch_needs(on_cpu, &needs) == Status::InvalidArgument);
    CHECK(vulkan::scratch_needs(plan, nullptr) == Status::InvalidArgument);

    Graph small;
    small.output("y", small.scale(small.input("x", {4}), 2.0f));
    REQUIRE(device.compile(small, {}, &without, {.host_scratch = true}) == Status::Ok);
    REQUIRE(vulkan::scratch_needs(without, &needs) == Status::Ok);
    CHECK(needs.bytes == 0);
    std::vector<float> x = {1, 2, 3, 4}, y(4);
    CHECK(without.run({{"x", x}, {"y", y}}) == Status::Ok);  // needs none, so it misses none

    // The CPU device has its own.
    std::vector<float> a = pattern(9 * 33, 1), b(9 * 33), c(9 * 33);
    CHECK(on_cpu.run({{"x", a}, {"y", b}}) == Status::Ok);
    REQUIRE(vulkan::bind_scratch(plan, {memory.buffer, needs.alignment * 0}) == Status::Ok);
    refuses(plan, {memory.buffer, 4}, Status::InvalidArgument, "offset 4");
    CHECK(plan.run({{"x", a}, {"y", c}}) == Status::Ok);
    CHECK(difference(c.data(), b) == "");
    plan = {};
    host->free(memory);
  }
  CHECK(host->take_validation() == "");
}

TEST_CASE("weights: in the host's buffer, through heed's queue or the host's own hands", "[vulkan][upload]") {
  for (const bool by_hand : {false, true}) {
    const auto host = HostVulkan::create({.queue = !by_hand});
    if (host == nullptr) return;
    {
      const Tensors tensors = block_weights();
      Block block;
      REQUIRE(vulkan::adopt(host->host_device(), &block.device) == Status::Ok);
      vulkan::BufferNeeds needs;
      REQUIRE(vulkan::upload_needs(block.device, tensors.list(), &needs) == Status::Ok);
      CHECK(needs.bytes == block.device.upload_bytes(tensors.list()));
      const VkDeviceSize at = 5 * needs.alignment;
      const HostVulkan::Memory memory = host->allocate(at + needs.bytes, needs.usage);
      std::memset(memory.mapped, 0x5a, at);
      reset_calls();
      const vulkan::WeightTarget target = {{memory.buffer, at, needs.bytes}, by_hand ? memory.mapped + at : nullptr};
      uint64_t progress = 0;
      const UploadOptions options = {
          .progress = {[](void* user, uint64_t done, uint64_t) { *static_cast<uint64_t*>(user) = done; }, &progress}};
      REQUIRE(vulkan::upload(block.device, tensors.list(), target, &block.weights, options) == Status::Ok);
      CHECK(progress == needs.bytes);
      CHECK(calls("QueueSubmit") == (by_hand ? 0 : 1));
      CHECK(calls("AllocateMemory") == (by_hand ? 0 : 1));  // staging
      CHECK(block.weights.bytes() == needs.bytes);
      REQUIRE(block.device.compile(block_graph(), block.weights, &block.plan) == Status::Ok);
      Device cpu;
      Weights cpu_weights;
      REQUIRE(Device::open({.select = "cpu"}, &cpu) == Status::Ok);
      REQUIRE(cpu.upload(tensors.list(), &cpu_weights) == Status::Ok);
      REQUIRE(cpu.compile(block_graph(), cpu_weights, &block.cpu_plan) == Status::Ok);

      const Sample sample = make_sample(block.cpu_plan, 2, 19, 3);
      const HostVulkan::Memory io = host->allocate(Layout::kBytes);
      write_inputs(io, {}, sample);
      const SampleInfo info(io, {}, sample);
      const VkCommandBuffer commands = host->begin();
      REQUIRE(vulkan::record(block.plan, commands, info.info) == Status::Ok);
      host->end(commands);
      host->submit_and_wait(commands);
      CHECK(outputs_differ(io, {}, sample) == "");
      size_t touched = 0;
      for (VkDeviceSize i = 0; i < at; ++i) touched += memory.mapped[i] != std::byte{0x5a};
      CHECK(touched == 0);

      Weights bad;
      CHECK(vulkan::upload(block.device, tensors.list(), {{memory.buffer, 4}}, &bad) == Status::InvalidArgument);
      CHECK(vulkan::upload(block.device, tensors.list(), {{memory.buffer, 0, 64}}, &bad) == Status::BufferTooSmall);
      CHECK(vulkan::upload(block.device, tensors.list(), {}, &bad) == Status::InvalidArgument);
      CHECK(vulkan::upload(cpu, tensors.list(), target, &bad) == Status::InvalidArgument);
      CHECK(vulkan::upload(Device(), tensors.list(), target, &bad) == Status::InvalidArgument);
      CHECK_FALSE(bad.valid());
      const std::string text = host->take_log();
      CHECK(text.find("upload: offset 4 is no multiple of") != std::string::npos);
      CHECK(text.find(std::to_string(needs.bytes) + " bytes are needed, 64 were given") != std::string::npos);
      block.plan = {};
      block.weights = {};
      host->free(io);
      host->free(memory);
    }
    CHECK(live_objects() == "");
    CHECK(foreign_destroys() == "");
    CHECK(host->take_validation() == "");
  }
}

TEST_CASE("memory limit: a plan above it is refused with both numbers", "[vulkan][memory]") {
  const auto host = HostVulkan::create({});
  if (host == nullptr) return;
  Device device, cpu;
  REQUIRE(vulkan::adopt(host->host_device(), &device) == Status::Ok);
  std::string cpu_log;
  const Log log = {[](void* user, LogLevel, const char* text) { *static_cast<std::string*>(user) += text; }, &cpu_log};
  REQUIRE(Device::open({.select = "cpu", .log = log, .threads = 1}, &cpu) == Status::Ok);
  const Graph g = long_graph(40);
  Plan plan;
  for (const bool host_scratch : {false, true}) {
    REQUIRE(device.compile(g, {}, &plan) == Status::Ok);
    const uint64_t needed = plan.scratch_bytes();
    CHECK(device.compile(g, {}, &plan, {.memory_limit = needed, .host_scratch = host_scratch}) == Status::Ok);
    reset_calls();
    CHECK(device.compile(g, {}, &plan, {.memory_limit = needed - 1, .host_scratch = host_scratch}) ==
          Status::OutOfDeviceMemory);
    CHECK(calls("AllocateMemory") == 0);
    CHECK(host->take_log().find("the plan needs " + std::to_string(needed) + " bytes of device memory; its limit is " +
                                std::to_string(needed - 1)) != std::string::npos);
    CHECK(plan.valid());  // the one before
  }
  REQUIRE(cpu.compile(g, {}, &plan) == Status::Ok);
  const uint64_t needed = plan.scratch_bytes();
  CHECK(cpu.compile(g, {}, &plan, {.memory_limit = needed}) == Status::Ok);
  CHECK(cpu.compile(g, {}, &plan, {.memory_limit = needed - 1}) == Status::OutOfMemory);
  CHECK(cpu_log.find("needs " + std::to_string(needed) + " bytes of memory; its limit is " +
                     std::to_string(needed - 1)) != std::string::npos);
}

TEST_CASE("memory budget: read only where enabled, and kept to", "[vulkan][memory]") {
  const auto host = HostVulkan::create({});
  if (host == nullptr) return;
  const Graph g = long_graph(40);
  Plan plan;
  std::vector<vulkan::HeapBudget> heaps;
  {
    Device device;
    REQUIRE(vulkan::adopt(host->host_device(), &device) == Status::Ok);
    REQUIRE(device.compile(g, {}, &plan) == Status::Ok);
    CHECK(vulkan::memory_budget(device, &heaps) == Status::Unsupported);
    CHECK(host->take_log().find("VK_EXT_memory_budget is not enabled") != std::string::npos);
    CHECK(budget_queries() == 0);
    plan = {};
  }
  {
    // The counting table answers for a driver that has the extension.
    const char* const extensions[] = {"VK_KHR_something_else", VK_EXT_MEMORY_BUDGET_EXTENSION_NAME};
    vulkan::HostDevice with = host->host_device();
    with.enabled_extensions = extensions;
    Device device;
    REQUIRE(vulkan::adopt(with, &device) == Status::Ok);
    pretend({.budget = 1u << 20, .used = 1000});
    REQUIRE(vulkan::memory_budget(device, &heaps) == Status::Ok);
    REQUIRE_FALSE(heaps.empty());
    CHECK(heaps[0].budget == 1u << 20);
    CHECK(heaps[0].used == 1000);
    CHECK(heaps[0].bytes > 0);
    REQUIRE(device.compile(g, {}, &plan) == Status::Ok);
    CHECK(budget_queries() >= 2);
    pretend({.budget = 1u << 20, .used = (1u << 20) - 100});
    reset_calls();
    CHECK(device.compile(g, {}, &plan) == Status::OutOfDeviceMemory);
    CHECK(calls("AllocateMemory") == 0);
    const std::string text = host->take_log();
    INFO(text);
    CHECK(text.find("scratch needs") != std::string::npos);
    CHECK(text.find("the driver's memory budget leaves 100") != std::string::npos);
    CHECK(vulkan::memory_budget(device, nullptr) == Status::InvalidArgument);
    CHECK(vulkan::memory_budget(Device(), &heaps) == Status::InvalidArgument);
    plan = {};
  }
  CHECK(live_objects() == "");
  CHECK(host->take_validation() == "");
}

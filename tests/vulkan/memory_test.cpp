// Scratch and weights in the host's buffers; limits and budgets.

#include "vulkan/host_plan.hpp"

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
  std::vector<float> y(x.size());
  Plan plan = compiled(open_cpu(), g);
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
  Device device = host->adopt();
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
  // Memory before the range must not change.
  std::memset(scratch.mapped, 0x5a, bytes);

  const HostVulkan::Memory io = host->allocate(65536);
  const std::vector<float> x[] = {pattern(40 * 33, 1), pattern(7 * 33, 2)};
  std::memcpy(io.mapped, x[0].data(), x[0].size() * 4);
  std::memcpy(io.mapped + 16384, x[1].data(), x[1].size() * 4);
  const vulkan::Buffer buffers[2][2] = {{{"x", io.buffer, 0}, {"y", io.buffer, 32768}},
                                        {{"x", io.buffer, 16384}, {"y", io.buffer, 49152}}};
  VkCommandBuffer commands = host->begin();
  host->refused(vulkan::record(plans[0], commands, {.buffers = buffers[0]}), Status::MissingBuffer,
                "bind_scratch gives it");
  std::vector<float> unused(x[0].size());
  CHECK(plans[0].run({{"x", x[0]}, {"y", unused}}) == Status::MissingBuffer);
  host->take_log();

  // A second bind releases the first range.
  REQUIRE(vulkan::bind_scratch(plans[0], {scratch.buffer, 0}) == Status::Ok);
  for (const Plan& plan : plans) REQUIRE(vulkan::bind_scratch(plan, {scratch.buffer, at, bytes - at}) == Status::Ok);
  // The plans alternate in one command buffer; heed's own barriers must keep them apart.
  for (uint32_t turn = 0; turn < 4; ++turn)
    REQUIRE(vulkan::record(plans[turn % 2], commands, {.buffers = buffers[turn % 2], .slot = turn / 2}) == Status::Ok);
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
}

TEST_CASE("scratch: mistakes are named, and the plan keeps what it had", "[vulkan][scratch]") {
  const auto host = HostVulkan::create({});
  if (host == nullptr) return;
  const Graph g = long_graph(9);
  Device device = host->adopt();
  Plan plan = compiled(device, g, {}, {.host_scratch = true});
  Plan own = compiled(device, g);
  Plan on_cpu = compiled(open_cpu(), g, {}, {.host_scratch = true});
  vulkan::BufferNeeds needs;
  REQUIRE(vulkan::scratch_needs(own, &needs) == Status::Ok);
  CHECK(needs.bytes == own.scratch_bytes());
  REQUIRE(vulkan::scratch_needs(plan, &needs) == Status::Ok);
  const HostVulkan::Memory memory = host->allocate(needs.bytes + needs.alignment);
  const auto refuses = [&](const Plan& to, const vulkan::BufferRange& range, Status status, const std::string& part) {
    CHECK(vulkan::bind_scratch(to, range) == status);
    CHECK_THAT(host->take_log(), holds(part));
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
  Plan without = compiled(device, small, {}, {.host_scratch = true});
  REQUIRE(vulkan::scratch_needs(without, &needs) == Status::Ok);
  CHECK(needs.bytes == 0);
  std::vector<float> x = {1, 2, 3, 4}, y(4);
  CHECK(without.run({{"x", x}, {"y", y}}) == Status::Ok);  // a plan without scratch needs no binding

  // Plans of the CPU device have their own scratch.
  std::vector<float> a = pattern(9 * 33, 1), b(9 * 33), c(9 * 33);
  CHECK(on_cpu.run({{"x", a}, {"y", b}}) == Status::Ok);
  REQUIRE(vulkan::bind_scratch(plan, {memory.buffer, needs.alignment * 0}) == Status::Ok);
  refuses(plan, {memory.buffer, 4}, Status::InvalidArgument, "offset 4");
  CHECK(plan.run({{"x", a}, {"y", c}}) == Status::Ok);
  CHECK(difference(c.data(), b) == "");
}

TEST_CASE("weights: in the host's buffer, through heed's queue or the host's own hands", "[vulkan][upload]") {
  for (const bool by_hand : {false, true}) {
    const auto host = HostVulkan::create({.queue = !by_hand});
    if (host == nullptr) return;
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
    uint64_t progress = 0, released = 0, bytes = 0;
    for (const HostTensor& tensor : tensors.list()) bytes += tensor.data.size();
    const UploadOptions options = {
        .progress = {[](void* user, uint64_t done, uint64_t) { *static_cast<uint64_t*>(user) = done; }, &progress},
        .release = {[](void* user, std::span<const std::byte> data) { *static_cast<uint64_t*>(user) += data.size(); },
                    &released}};
    REQUIRE(vulkan::upload(block.device, tensors.list(), target, &block.weights, options) == Status::Ok);
    CHECK(progress == needs.bytes);
    CHECK(released == bytes);
    CHECK(calls("QueueSubmit") == (by_hand ? 0 : 1));
    CHECK(calls("AllocateMemory") == (by_hand ? 0 : 1));  // staging
    CHECK(block.weights.bytes() == needs.bytes);
    block.plan = compiled(block.device, block_graph(), block.weights);
    Plan cpu_plan = block_on_cpu();

    const Sample sample = make_sample(cpu_plan, 2, 19, 3);
    const HostVulkan::Memory io = host->allocate(Layout::kBytes);
    write_inputs(io, {}, sample);
    const SampleInfo info(io, {}, sample);
    host->record_and_wait(block.plan, info.info);
    CHECK(outputs_differ(io, {}, sample) == "");
    size_t touched = 0;
    for (VkDeviceSize i = 0; i < at; ++i) touched += memory.mapped[i] != std::byte{0x5a};
    CHECK(touched == 0);

    Weights bad;
    CHECK(vulkan::upload(block.device, tensors.list(), {{memory.buffer, 4}}, &bad) == Status::InvalidArgument);
    CHECK(vulkan::upload(block.device, tensors.list(), {{memory.buffer, 0, 64}}, &bad) == Status::BufferTooSmall);
    CHECK(vulkan::upload(block.device, tensors.list(), {}, &bad) == Status::InvalidArgument);
    CHECK(vulkan::upload(open_cpu(), tensors.list(), target, &bad) == Status::InvalidArgument);
    CHECK(vulkan::upload(Device(), tensors.list(), target, &bad) == Status::InvalidArgument);
    CHECK_FALSE(bad.valid());
    const std::string text = host->take_log();
    CHECK_THAT(text, holds("upload: offset 4 is no multiple of"));
    CHECK_THAT(text, holds(std::to_string(needs.bytes) + " bytes are needed, 64 were given"));
  }
}

TEST_CASE("memory limit: a plan above it is refused with both numbers", "[vulkan][memory]") {
  const auto host = HostVulkan::create({});
  if (host == nullptr) return;
  Device device = host->adopt();
  Messages messages;
  Device cpu = open_cpu({.log = messages.log(), .threads = 1});
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
    CHECK_THAT(host->take_log(), holds("the plan needs " + std::to_string(needed) +
                                       " bytes of device memory; its limit is " + std::to_string(needed - 1)));
    CHECK(plan.valid());  // the previous one
  }
  REQUIRE(cpu.compile(g, {}, &plan) == Status::Ok);
  const uint64_t needed = plan.scratch_bytes();
  CHECK(cpu.compile(g, {}, &plan, {.memory_limit = needed}) == Status::Ok);
  CHECK(cpu.compile(g, {}, &plan, {.memory_limit = needed - 1}) == Status::OutOfMemory);
  CHECK_THAT(messages.text,
             holds("needs " + std::to_string(needed) + " bytes of memory; its limit is " + std::to_string(needed - 1)));
}

TEST_CASE("memory budget: read only where enabled, and kept to", "[vulkan][memory]") {
  const auto host = HostVulkan::create({});
  if (host == nullptr) return;
  const Graph g = long_graph(40);
  Plan plan;
  std::vector<vulkan::HeapBudget> heaps;
  {
    Device device = host->adopt();
    REQUIRE(device.compile(g, {}, &plan) == Status::Ok);
    host->refused(vulkan::memory_budget(device, &heaps), Status::Unsupported,
                  "the host lists in HostDevice::enabled_extensions no VK_EXT_memory_budget");
    CHECK(budget_queries() == 0);
    plan = {};
  }
  // The counting table imitates a driver with the extension.
  const char* const extensions[] = {"VK_KHR_something_else", VK_EXT_MEMORY_BUDGET_EXTENSION_NAME};
  vulkan::HostDevice with = host->host_device();
  with.enabled_extensions = extensions;
  Device device = adopted(with);
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
  CHECK_THAT(text, holds("scratch needs"));
  CHECK_THAT(text, holds("the driver's memory budget leaves 100"));
  CHECK(vulkan::memory_budget(device, nullptr) == Status::InvalidArgument);
  CHECK(vulkan::memory_budget(Device(), &heaps) == Status::InvalidArgument);
}

// heed inside a host that owns the device: recording into the host's command buffer.
#include <thread>

#include "harness/counting.hpp"
#include "vulkan/host_plan.hpp"

using namespace heed;
using namespace heed::test;

TEST_CASE("record: 1,000 times with varying extents, allocating and submitting nothing", "[vulkan][record]") {
  const auto host = HostVulkan::create({});
  if (host == nullptr) return;
  reset_calls();
  Block block = make_block(*host, {.record_slots = 2});
  CHECK(calls("CreateComputePipelines") > 0);  // the counting table is active
  CHECK(calls("AllocateMemory") > 0);
  CHECK(host->host_allocations() > 0);

  std::vector<Sample> samples;
  for (int64_t tokens : {1, 2, 7, 16, 17, 31, 37})
    samples.push_back(make_sample(block.cpu_plan, 1 + tokens % kBlockBatch, tokens, static_cast<uint32_t>(tokens)));
  const HostVulkan::Memory memory = host->allocate(Layout::kBytes);
  const Layout at;

  uint64_t record_news = 0, record_calls = 0, compared = 0;
  reset_calls();
  const uint64_t allocations = host->host_allocations();
  for (uint32_t i = 0; i < 1000; ++i) {
    const Sample& sample = samples[i % samples.size()];
    const SampleInfo given(memory, at, sample, i % 2);
    const VkCommandBuffer commands = host->begin(i % 2);
    const uint64_t news_before = news();
    const Status status = vulkan::record(block.plan, commands, given.info);
    record_news += news() - news_before;
    if (status != Status::Ok) FAIL(to_string(status) << ": " << host->take_log());
    host->end(commands);
    if (i % 41 != 0) continue;
    write_inputs(memory, at, sample);
    host->submit_and_wait(commands);
    INFO("batch " << sample.batch << ", tokens " << sample.tokens);
    CHECK(outputs_differ(memory, at, sample) == "");
    ++compared;
  }
  std::string names;
  record_calls = calls_that_record_must_not_make(&names);
  INFO(names);
  CHECK(record_calls == 0);
  CHECK(calls("GetBufferMemoryRequirements") == 1000);  // only y has VK_WHOLE_SIZE
  CHECK(record_news == 0);
  CHECK(host->host_allocations() == allocations);
  CHECK(calls("CmdDispatch") >= 1000 * block.plan.passes().size());
  CHECK(calls("CmdDispatchBase") == 0);
  CHECK(compared == 25);
}

TEST_CASE("record: the first names weights that nobody uses, and allocates nothing", "[vulkan][record]") {
  const auto host = HostVulkan::create({});
  if (host == nullptr) return;
  Tensors tensors = block_weights();
  tensors.add("another", {3}, 1);
  Plan cpu_plan = block_on_cpu();
  const Sample sample = make_sample(cpu_plan, 1, 2, 3);
  const HostVulkan::Memory memory = host->allocate(Layout::kBytes);
  const SampleInfo given(memory, Layout(), sample);
  for (const LogLevel minimum : {LogLevel::Warning, LogLevel::Error}) {  // stored messages allocate memory
    vulkan::HostDevice host_device = host->host_device();
    host_device.log.minimum = minimum;
    Device device = adopted(host_device);
    Plan plan = compiled(device, block_graph(), uploaded(device, tensors.list()));
    host->take_log();
    for (const bool is_first : {true, false}) {
      const VkCommandBuffer commands = host->begin();
      const uint64_t news_before = news();
      CHECK(vulkan::record(plan, commands, given.info) == Status::Ok);
      CHECK((news() == news_before || minimum == LogLevel::Warning));
      host->end(commands);
      const bool is_told = is_first && minimum == LogLevel::Warning;
      const std::string log = host->take_log();
      CHECK((is_told ? log.find("record: no graph uses the uploaded 'another'") != std::string::npos : log.empty()));
    }
  }
}

TEST_CASE("record: two threads, each with its slot and its command buffer", "[vulkan][record]") {
  const auto host = HostVulkan::create({});
  if (host == nullptr) return;
  vulkan::HostDevice host_device = host->host_device();
  host_device.get_instance_proc_addr = host->vk().GetInstanceProcAddr;  // the counters allow one thread
  // The plan has timestamps, too: each recording reads the times of earlier ones.
  Block block = make_block(host_device, {.timestamps = host->has_timestamps(), .record_slots = 2});

  struct Worker {
    Sample sample;
    HostVulkan::Memory memory;
    VkCommandPool pool = VK_NULL_HANDLE;
    VkCommandBuffer commands = VK_NULL_HANDLE;
    uint32_t failures = 0;
  } workers[2];
  const Layout at;
  const vulkan::Functions& vk = host->vk();
  const auto work = [&](uint32_t index) {
    Worker& worker = workers[index];
    const SampleInfo given(worker.memory, at, worker.sample, index);
    const auto begin = vulkan::structure<VkCommandBufferBeginInfo>(VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO);
    for (int i = 0; i < 200; ++i) {
      worker.failures += vk.ResetCommandPool(host->device(), worker.pool, 0) != VK_SUCCESS;
      worker.failures += vk.BeginCommandBuffer(worker.commands, &begin) != VK_SUCCESS;
      worker.failures += vulkan::record(block.plan, worker.commands, given.info) != Status::Ok;
      if (i < 199) worker.failures += vk.EndCommandBuffer(worker.commands) != VK_SUCCESS;
    }
  };
  for (uint32_t i = 0; i < 2; ++i) {
    workers[i].sample = make_sample(block.cpu_plan, 1 + i, 11 + 20 * i, i);
    workers[i].memory = host->allocate(Layout::kBytes);
    write_inputs(workers[i].memory, at, workers[i].sample);
    auto pool = vulkan::structure<VkCommandPoolCreateInfo>(VK_STRUCTURE_TYPE_COMMAND_POOL_CREATE_INFO);
    pool.queueFamilyIndex = host_device.queue_family;
    REQUIRE(vk.CreateCommandPool(host->device(), &pool, nullptr, &workers[i].pool) == VK_SUCCESS);
    auto info = vulkan::structure<VkCommandBufferAllocateInfo>(VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO);
    info.commandPool = workers[i].pool;
    info.commandBufferCount = 1;
    REQUIRE(vk.AllocateCommandBuffers(host->device(), &info, &workers[i].commands) == VK_SUCCESS);
  }
  std::thread other(work, 1);
  work(0);
  other.join();
  for (Worker& worker : workers) {
    CHECK(worker.failures == 0);
    host->end(worker.commands);
    host->submit_and_wait(worker.commands);
    CHECK(outputs_differ(worker.memory, at, worker.sample) == "");
    vk.DestroyCommandPool(host->device(), worker.pool, nullptr);
  }
}

TEST_CASE("record: barriers only where a hazard exists", "[vulkan][record]") {
  const auto host = HostVulkan::create({});
  if (host == nullptr) return;
  Device device = host->adopt();
  Graph g;
  const Tensor x = g.input("x", {8, 16});
  const Tensor w = g.input("w", {16, 16});
  Tensor sum[2];
  for (int i = 0; i < 2; ++i) {
    const Tensor product = g.matmul(x, w, {.scale = 1.0f + static_cast<float>(i)});
    g.output(i == 0 ? "a" : "b", product);
    sum[i] = product;
  }
  g.output("c", g.softmax(g.concat({sum[0], sum[1]}, 1)));
  Plan plan = compiled(device, g);
  const HostVulkan::Memory memory = host->allocate(65536);
  const std::vector<float> x_values = pattern(8 * 16, 1), w_values = pattern(16 * 16, 2);
  std::memcpy(memory.mapped, x_values.data(), x_values.size() * sizeof(float));
  std::memcpy(memory.mapped + 4096, w_values.data(), w_values.size() * sizeof(float));
  const vulkan::Buffer buffers[] = {{"x", memory.buffer, 0},
                                    {"w", memory.buffer, 4096},
                                    {"a", memory.buffer, 8192},
                                    {"b", memory.buffer, 16384},
                                    {"c", memory.buffer, 32768}};
  const VkCommandBuffer commands = host->begin();
  reset_calls();
  REQUIRE(vulkan::record(plan, commands, {.buffers = buffers}) == Status::Ok);
  // There is a barrier at the start, one after the two matmuls, which are independent, and one before softmax. concat writes one output by
  // two dispatches, which the tracker keeps apart.
  CHECK(calls("CmdPipelineBarrier") >= 3);
  CHECK(calls("CmdPipelineBarrier") <= 4);
  CHECK(calls("CmdDispatch") >= 4);
  host->end(commands);
  host->submit_and_wait(commands);

  std::vector<float> a(128), b(128), c(256);
  Plan cpu_plan = compiled(open_cpu(), g);
  REQUIRE(cpu_plan.run({{"x", x_values}, {"w", w_values}, {"a", a}, {"b", b}, {"c", c}}) == Status::Ok);
  const auto at = [&](size_t offset) { return reinterpret_cast<const float*>(memory.mapped + offset); };
  CHECK(difference(at(8192), a) == "");
  CHECK(difference(at(16384), b) == "");
  CHECK(difference(at(32768), c) == "");
}

TEST_CASE("record: mistakes are named with both values, and leave the command buffer as it was", "[vulkan][record]") {
  const auto host = HostVulkan::create({});
  if (host == nullptr) return;
  Block block = make_block(*host, {.record_slots = 2});
  const HostVulkan::Memory memory = host->allocate(Layout::kBytes);
  const VkBuffer b = memory.buffer;
  const VkCommandBuffer commands = host->begin();
  const vulkan::Buffer good[] = {{"x", b, 0, 65536}, {"padding", b, 65536, 4096}, {"y", b, 131072, 65536}};
  reset_calls();
  const std::vector<ExtentValue> largest = {{"batch", 3}, {"tokens", 37}};
  const auto attempt = [&](std::vector<vulkan::Buffer> buffers,
                           std::vector<ExtentValue> extents = {{"batch", 3}, {"tokens", 37}}, uint32_t slot = 0) {
    return vulkan::record(block.plan, commands, {.buffers = buffers, .extents = extents, .slot = slot});
  };
  host->refused(attempt({good[0], good[1]}), Status::MissingBuffer, "output 'y'");
  host->refused(attempt({good[0], good[1], good[2], good[0]}), Status::InvalidArgument, "'x' is given twice");
  host->refused(attempt({good[0], good[1], {"y", b, 0, 65536}}), Status::InvalidArgument,
                "output 'y' overlaps 'x': both begin in one buffer, at 0 and 0");
  // x ends at 10656.
  host->refused(attempt({good[0], good[1], {"y", b, 10652, 65536}}), Status::InvalidArgument, "at 10652 and 0");
  host->refused(attempt({good[0], good[1], good[2]}, {{"tokens", 3}, {"tokens", 4}}), Status::InvalidArgument,
                "'tokens' is given twice");
  host->refused(attempt({good[0], good[1], good[2], {"z", b}}), Status::NotFound, "'z'");
  host->refused(attempt({{"x", b, 0, 100}, good[1], good[2]}), Status::BufferTooSmall,
                "'x' needs 10656 bytes, 100 were given");
  host->refused(attempt({{"x", b, UINT64_MAX - 3}, good[1], good[2]}), Status::BufferTooSmall,
                "offset 18446744073709551612 of 'x' is beyond any buffer");
  host->refused(attempt({{"x", b, 2, 65536}, good[1], good[2]}), Status::InvalidArgument,
                "offset 2 of 'x' is no multiple of 4");
  host->refused(attempt({good[0], {"padding", b, 65537, 4096}, good[2]}), Status::InvalidArgument,
                "offset 65537 of 'padding' is no multiple of 4");
  host->refused(attempt({{"x", VK_NULL_HANDLE}, good[1], good[2]}), Status::InvalidArgument, "'x' is null");
  host->refused(attempt({good[0], good[1], good[2]}, {{"tokens", 38}}), Status::ExtentOutOfRange, "'tokens' is 38");
  host->refused(attempt({good[0], good[1], good[2]}, {{"rows", 1}}), Status::NotFound, "'rows'");
  host->refused(attempt({good[0], good[1], good[2]}, largest, 2), Status::InvalidArgument, "slot 2");
  host->refused(attempt({good[0], good[1], good[2]}, {{"tokens", 3}}), Status::ExtentOutOfRange,
                "extent 'batch' is not given; this plan takes 1 to 3");
  host->refused(vulkan::record(block.plan, VK_NULL_HANDLE, {.buffers = good}), Status::InvalidArgument,
                "command buffer is null");
  CHECK(vulkan::record(Plan(), commands, {.buffers = good}) == Status::InvalidArgument);
  host->refused(vulkan::record(block.cpu_plan, commands, {.buffers = good}), Status::InvalidArgument,
                "record: this plan is of the CPU device");
  CHECK(calls_of_all() == 0);
  CHECK(attempt({good[0], good[1], good[2]}) == Status::Ok);
  CHECK(attempt({good[0], good[1], {"y", b, 10656}}, largest, 1) == Status::Ok);  // after x, as when a cache grows
  CHECK(host->take_log() == "");
  host->end(commands);
}

TEST_CASE("record: a buffer that cannot hold its tensor is refused without a stated size, too", "[vulkan][record]") {
  const auto host = HostVulkan::create({});
  if (host == nullptr) return;
  Block block = make_block(*host);
  // x and y need at most 10,656 bytes each, and 24 * 4 for one token of one row.
  const HostVulkan::Memory good = host->allocate(Layout::kBytes), small = host->allocate(64);
  VkMemoryRequirements required = {};
  host->vk().GetBufferMemoryRequirements(host->device(), small.buffer, &required);
  REQUIRE(required.size < 10656);
  const vulkan::Buffer x = {"x", good.buffer, 0, 65536}, padding = {"padding", good.buffer, 65536, 4096},
                       y = {"y", good.buffer, 131072};
  const VkCommandBuffer commands = host->begin();
  const auto attempt = [&](std::vector<vulkan::Buffer> buffers,
                           std::vector<ExtentValue> extents = {{"batch", 3}, {"tokens", 37}}) {
    reset_calls();
    const Status status = vulkan::record(block.plan, commands, {.buffers = buffers, .extents = extents});
    if (status != Status::Ok) CHECK(calls_of_all() == calls("GetBufferMemoryRequirements"));
    return status;
  };
  const auto at_most = [](VkDeviceSize bytes) { return "at most " + std::to_string(bytes) + " from the offset on"; };
  CHECK(attempt({{"x", small.buffer}, padding, y}) == Status::BufferTooSmall);
  CHECK_THAT(host->take_log(), holds("'x' needs 10656 bytes; its VkBuffer has " + at_most(required.size)));
  CHECK(attempt({x, padding, {"y", small.buffer}}) == Status::BufferTooSmall);
  CHECK_THAT(host->take_log(), holds("'y' needs 10656 bytes; its VkBuffer has " + at_most(required.size)));
  // The offset counts, and may be past the end.
  CHECK(attempt({x, padding, {"y", good.buffer, Layout::kBytes - 4096}}) == Status::BufferTooSmall);
  CHECK_THAT(host->take_log(), holds("'y' needs 10656 bytes; its VkBuffer has at most "));
  host->refused(attempt({x, padding, {"y", good.buffer, 64 * Layout::kBytes}}), Status::BufferTooSmall, at_most(0));
  host->refused(attempt({{"x", good.buffer, 0, 64}, padding, y}, {{"batch", 1}, {"tokens", 1}}), Status::BufferTooSmall,
                "'x' needs 96 bytes, 64 were given");

  CHECK(attempt({x, padding, y}) == Status::Ok);
  CHECK(calls("GetBufferMemoryRequirements") == 1);
  host->end(commands);
  // Runs of heed's own buffers make no queries.
  const Sample sample = make_sample(block.cpu_plan, 2, 9, 5);
  CHECK(run_differs(block.plan, sample) == "");
  reset_calls();
  CHECK(run_differs(block.plan, sample) == "");
  CHECK(calls("GetBufferMemoryRequirements") == 0);
}

TEST_CASE("record: long dispatches are cut, with the same result", "[vulkan][record]") {
  const auto host = HostVulkan::create({});
  if (host == nullptr) return;
  constexpr int64_t kSize = 640;  // 2 * 640^3 * 3 = 1.6e9 operations
  Device device = host->adopt();
  Graph g;
  g.output("c", g.matmul(g.input("a", {3, kSize, kSize}), g.input("b", {kSize, kSize})));
  Plan plan = compiled(device, g);
  Plan cpu_plan = compiled(open_cpu(), g);
  std::vector<float> a = pattern(3 * kSize * kSize, 1), b = pattern(kSize * kSize, 2);
  std::vector<float> got(a.size()), want(a.size());
  reset_calls();
  REQUIRE(plan.run({{"a", a}, {"b", b}, {"c", got}}) == Status::Ok);
  if (device.info().kind == DeviceKind::SoftwareGpu) CHECK(calls("CmdDispatchBase") >= 2);
  REQUIRE(cpu_plan.run({{"a", a}, {"b", b}, {"c", want}}) == Status::Ok);
  // Sums of 640 products below 1: rounding errors grow with the length of the sum.
  float worst = 0;
  for (size_t i = 0; i < want.size(); ++i) worst = std::max(worst, std::abs(got[i] - want[i]));
  CHECK(worst < 640 * 0x1p-24f * 40);
}

TEST_CASE("record: an id outside its table is reported once, by the slot that met it", "[vulkan][record]") {
  const auto host = HostVulkan::create({});
  if (host == nullptr) return;
  pretend({.non_coherent = true});
  Graph g;
  g.output("rows", g.embedding(g.input("table", {5, 4}), g.input("ids", {3}, DType::I32)));
  Plan plan = compiled(host->adopt(), g, {}, {.record_slots = 2});
  const HostVulkan::Memory memory = host->allocate(4096);
  const std::vector<float> table = pattern(20, 3);
  const int32_t ids[2][3] = {{4, 0, 2}, {4, 5, -1}};
  std::memcpy(memory.mapped, table.data(), sizeof(float) * 20);
  std::memcpy(memory.mapped + 1024, ids, sizeof ids);
  for (uint32_t slot : {0u, 1u}) {
    const vulkan::Buffer buffers[] = {{"table", memory.buffer, 0},
                                      {"ids", memory.buffer, 1024 + slot * sizeof ids[0]},
                                      {"rows", memory.buffer, 2048 + slot * 256}};
    host->record_and_wait(plan, {.buffers = buffers, .slot = slot}, slot);
  }
  (void)take_mapped_ranges();
  CHECK(vulkan::take_faults(plan, 0) == Status::Ok);
  CHECK(host->take_log() == "");
  CHECK(vulkan::take_faults(plan, 1) == Status::IndexOutOfRange);
  // The other slot may be in flight.
  using Ranges = std::vector<std::pair<VkDeviceSize, VkDeviceSize>>;
  CHECK(take_mapped_ranges() == Ranges{{0, 256}, {0, 256}, {256, 256}, {256, 256}});
  CHECK_THAT(host->take_log(), holds("an id is outside the table"));
  CHECK(vulkan::take_faults(plan, 1) == Status::Ok);
  host->refused(vulkan::take_faults(plan, 2), Status::InvalidArgument, "slot 2 was asked for");
  const float* rows = reinterpret_cast<const float*>(memory.mapped + 2048);
  for (size_t c = 0; c < 4; ++c) {
    CHECK(rows[c] == table[16 + c]);
    CHECK(rows[4 + c] == table[c]);
    CHECK(rows[64 + c] == table[16 + c]);
    CHECK(rows[64 + 4 + c] == 0.0f);
    CHECK(rows[64 + 8 + c] == 0.0f);
  }
}

TEST_CASE("record: timestamps per pass on request", "[vulkan][record]") {
  const auto host = HostVulkan::create({});
  if (host == nullptr) return;
  if (!host->has_timestamps()) {
    Graph g;
    Plan plan;
    g.output("y", g.scale(g.input("x", {4}), 2.0f));
    CHECK(host->adopt().compile(g, {}, &plan, {.timestamps = true}) == Status::Unsupported);
    (void)host->take_log();
    return;
  }
  Block block = make_block(*host, {.timestamps = true, .record_slots = 2});
  std::vector<PassTime> times;
  CHECK(block.plan.timings(&times) == Status::InvalidArgument);  // nothing has run yet
  const Sample sample = make_sample(block.cpu_plan, 2, 31, 1);
  CHECK(run_differs(block.plan, sample) == "");
  REQUIRE(block.plan.timings(&times) == Status::Ok);
  REQUIRE(times.size() == block.plan.passes().size());
  double sum = 0;
  for (const PassTime& time : times) {
    CHECK(time.milliseconds >= 0.0);
    sum += time.milliseconds;
  }
  CHECK(sum > 0.0);
  CHECK(sum < 60'000.0);
  CHECK(block.plan.timings(&times, 1) == Status::InvalidArgument);
  host->refused(block.plan.timings(&times, 7), Status::InvalidArgument, "slot 7 was never recorded to its end");
  for (const PassInfo& pass : block.plan.passes()) {
    CHECK(pass.dispatches > 0);
    CHECK_THAT(pass.kernel, holds(pass.op == "copy" ? "" : "_f32"));
    CHECK_FALSE(pass.label.empty());
    CHECK_FALSE(pass.why.empty());
  }
}

TEST_CASE("record: what is never submitted leaves no trace, timestamps included", "[vulkan][record]") {
  const auto host = HostVulkan::create({});
  if (host == nullptr) return;
  Block block = make_block(*host, {.timestamps = host->has_timestamps(), .record_slots = 1});
  const HostVulkan::Memory memory = host->allocate(Layout::kBytes);
  const Sample sample = make_sample(block.cpu_plan, 2, 13, 4);
  const SampleInfo given(memory, {}, sample);
  write_inputs(memory, {}, sample);
  std::vector<PassTime> times;
  VkCommandBuffer commands = VK_NULL_HANDLE;
  for (int i = 0; i < 3; ++i) {
    commands = host->begin();
    REQUIRE(vulkan::record(block.plan, commands, given.info) == Status::Ok);
    host->end(commands);
    if (host->has_timestamps()) CHECK(block.plan.timings(&times) == Status::InvalidArgument);
  }
  CHECK((host->take_log().find("has not finished the recording of slot 0") != std::string::npos) ==
        host->has_timestamps());
  host->submit_and_wait(commands);
  CHECK(outputs_differ(memory, {}, sample) == "");
  if (host->has_timestamps()) {
    CHECK(block.plan.timings(&times) == Status::Ok);
    CHECK(times.size() == block.plan.passes().size());
  }
}

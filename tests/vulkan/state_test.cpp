// States recorded into a host's command buffers, in the host's memory, over several frames, and with failing calls.
#include <cstring>
#include <heed/vulkan_frames.hpp>
#include <limits>
#include <optional>

#include "harness/catch.hpp"
#include "harness/counting.hpp"
#include "vulkan/host_plan.hpp"
#include "vulkan/host_vulkan.hpp"

using namespace heed;
using namespace heed::test;

namespace {

constexpr VkBufferUsageFlags kStateMemory =
    VK_BUFFER_USAGE_STORAGE_BUFFER_BIT | VK_BUFFER_USAGE_TRANSFER_SRC_BIT | VK_BUFFER_USAGE_TRANSFER_DST_BIT;

// y = sum += x. With a log, the sums are also stored row by row, and y is the mean of the first rows.
Graph counter(bool logs) {
  Graph g;
  const Tensor x = g.input("x", {1, 16});
  const Tensor sum = g.assign(g.state("sum", {1, 16}), g.add(g.state("sum", {1, 16}), x));
  if (!logs) {
    g.output("y", sum);
    return g;
  }
  const Dim at = g.position("at", 7);
  const Tensor log = g.append(g.state("log", {8, 16}), g.scale(sum, 1.0f), 0, at);
  g.output("y", g.mean(g.slice(log, 0, 0, g.sum(at, 1, 8)), 0));
  return g;
}

// One host buffer with an input and an output for each recording.
struct Recordings {
  explicit Recordings(HostVulkan& owner) : host(owner), memory(owner.allocate(65536, kStateMemory)) {}
  ~Recordings() { host.free(memory); }
  // Recording i adds `x` to all elements.
  Status record(const Plan& plan, VkCommandBuffer commands, uint32_t i, float x, const State& state, int64_t at = -1,
                double budget = -1, vulkan::Cursor* cursor = nullptr) {
    auto* values = reinterpret_cast<float*>(memory.mapped + in(i));
    std::fill_n(values, 16, x);
    const vulkan::Buffer buffers[] = {{"x", memory.buffer, in(i), 64}, {"y", memory.buffer, in(i) + 1024, 64}};
    const ExtentValue extents[] = {{"at", at}};
    const vulkan::RecordInfo info = {
        .buffers = buffers, .extents = std::span(extents).first(at < 0 ? 0 : 1), .slot = i % 16, .state = state};
    const uint64_t before = news();
    const Status status = cursor == nullptr ? vulkan::record(plan, commands, info)
                                            : vulkan::record_some(plan, commands, info, budget, cursor);
    news_within += news() - before;
    return status;
  }
  std::vector<float> y(uint32_t i) const {
    std::vector<float> values(16);
    std::memcpy(values.data(), memory.mapped + in(i) + 1024, 64);
    return values;
  }
  static VkDeviceSize in(uint32_t i) { return 4 + 2048 * i; }

  HostVulkan& host;
  HostVulkan::Memory memory;
  uint64_t news_within = 0;
};

std::vector<float> all(float x) { return std::vector<float>(16, x); }

struct Plans {
  Device device;
  Plan logs, plain;
  explicit Plans(const vulkan::HostDevice& host) {
    REQUIRE(vulkan::adopt(host, &device) == Status::Ok);
    REQUIRE(device.compile(counter(true), {}, &logs, {.record_slots = 16}) == Status::Ok);
    REQUIRE(device.compile(counter(false), {}, &plain, {.record_slots = 16}) == Status::Ok);
  }
  State make() {
    State state = state_of(logs);
    return state;
  }
};

// Recordings of two plans and three States, one of them in the host's memory, in one command buffer.
void record_many(Plans& plans, Recordings& r, const State (&states)[3], VkCommandBuffer commands) {
  const State& a = states[0];
  const State& b = states[1];
  const State& c = states[2];
  REQUIRE(r.record(plans.logs, commands, 0, 1, a, 0) == Status::Ok);   // a: 1, log 1
  REQUIRE(r.record(plans.plain, commands, 1, 2, a) == Status::Ok);     // a: 3
  REQUIRE(r.record(plans.logs, commands, 2, 10, b, 0) == Status::Ok);  // b: 10
  REQUIRE(r.record(plans.logs, commands, 3, 4, a, 1) == Status::Ok);   // a: 7, log 1 7
  REQUIRE(r.record(plans.plain, commands, 4, 100, c) == Status::Ok);   // c: 100
  REQUIRE(vulkan::record_copy(c, a, commands) == Status::Ok);          // c: 7, log 1 7
  REQUIRE(r.record(plans.plain, commands, 5, 1, a) == Status::Ok);     // a: 8
  REQUIRE(r.record(plans.logs, commands, 6, 6, c, 2) == Status::Ok);   // c: 13, log 1 7 13
  REQUIRE(vulkan::record_reset(b, commands) == Status::Ok);            // b: 0
  REQUIRE(r.record(plans.plain, commands, 7, 5, b) == Status::Ok);     // b: 5
  REQUIRE(r.record(plans.plain, commands, 8, 0, c) == Status::Ok);     // c: 13
}

void check_many(const Recordings& r) {
  const float want[] = {1, 3, 10, 4, 100, 8, 7, 5, 13};
  for (uint32_t i = 0; i < 9; ++i) {
    INFO("recording " << i);
    CHECK(r.y(i) == all(want[i]));
  }
}

}  // namespace

TEST_CASE("state: two plans and three States in one command buffer", "[vulkan][state]") {
  const auto host = HostVulkan::create({});
  if (host == nullptr) return;
  Plans plans(host->host_device());
  vulkan::BufferNeeds needs;
  REQUIRE(vulkan::state_needs(plans.logs, &needs) == Status::Ok);
  CHECK(needs.bytes == plans.logs.state_bytes());
  CHECK(needs.usage == kStateMemory);
  const VkDeviceSize at = 3 * needs.alignment;
  const HostVulkan::Memory memory = host->allocate(at + needs.bytes, needs.usage);
  std::memset(memory.mapped, 0x5a, at + needs.bytes);
  State hosts;
  reset_calls();
  REQUIRE(vulkan::make_state(plans.logs, {memory.buffer, at, needs.bytes}, &hosts) == Status::Ok);
  CHECK(calls("AllocateMemory") + calls("QueueSubmit") == 0);
  REQUIRE(hosts.reset() == Status::Ok);
  for (VkDeviceSize i = 0; i < at; ++i) REQUIRE(memory.mapped[i] == std::byte{0x5a});
  {
    Recordings r(*host);
    const State states[3] = {plans.make(), hosts, plans.make()};
    VkCommandBuffer commands = host->begin();
    reset_calls();
    record_many(plans, r, states, commands);
    std::string names;
    const uint64_t wrong = calls_that_record_must_not_make(&names);
    INFO(names);
    CHECK(wrong == 0);
    CHECK(r.news_within == 0);
    host->end(commands);
    host->submit_and_wait(commands);
    check_many(r);
    CHECK(host->take_validation() == "");

    // Without barriers the layer reports where they are missing.
    for (State state : states) REQUIRE(state.reset() == Status::Ok);
    pretend({.no_barriers = true});
    commands = host->begin();
    record_many(plans, r, states, commands);
    pretend({});
    host->end(commands);
    const std::string text = host->take_validation();
    CHECK(has_message(text, "SYNC-HAZARD-READ-AFTER-WRITE"));

    // Another State reuses a range of the host's memory.
    State same;
    REQUIRE(vulkan::make_state(plans.logs, {memory.buffer, at}, &same) == Status::Ok);
    for (State state : states) REQUIRE(state.reset() == Status::Ok);
    std::vector<float> x = all(2), y(16);
    REQUIRE(plans.plain.run({{"x", x}, {"y", y}}, {}, {.state = hosts}) == Status::Ok);
    REQUIRE(plans.plain.run({{"x", x}, {"y", y}}, {}, {.state = same}) == Status::Ok);
    CHECK(y == all(4));
  }
  hosts = {};
  host->free(memory);
}

TEST_CASE("state: mistakes of a host are named, and nothing is written", "[vulkan][state]") {
  const auto host = HostVulkan::create({});
  if (host == nullptr) return;
  Plans plans(host->host_device()), others(host->host_device());
  Device cpu;
  Plan on_cpu;
  State cpus;
  REQUIRE(Device::open({.select = "cpu", .threads = 1}, &cpu) == Status::Ok);
  REQUIRE(cpu.compile(counter(true), {}, &on_cpu) == Status::Ok);
  REQUIRE(on_cpu.make_state(&cpus) == Status::Ok);
  Recordings r(*host);
  State state = plans.make(), foreign = others.make(), none, in_io, less;
  REQUIRE(plans.plain.make_state(&less) == Status::Ok);
  std::vector<std::byte> kept, blob;
  REQUIRE(state.save(&kept) == Status::Ok);
  const VkCommandBuffer commands = host->begin();
  reset_calls();
  host->refused(r.record(plans.logs, commands, 0, 1, {}, 0), Status::MissingBuffer, "was given no State");
  host->refused(r.record(plans.logs, commands, 0, 1, foreign, 0), Status::InvalidArgument, "another device");
  host->refused(r.record(plans.logs, commands, 0, 1, cpus, 0), Status::InvalidArgument, "another device");
  CHECK(r.record(plans.logs, commands, 0, 1, state, 8) == Status::ExtentOutOfRange);
  host->take_log();
  host->refused(r.record(plans.logs, commands, 0, 1, less, 0), Status::NotFound, "the State has no 'log'");
  CHECK(vulkan::record_copy(state, less, commands) == Status::NotFound);
  CHECK(vulkan::record_copy(state, foreign, commands) == Status::InvalidArgument);
  CHECK(vulkan::record_copy(state, cpus, commands) == Status::InvalidArgument);
  CHECK(vulkan::record_reset(cpus, commands) == Status::InvalidArgument);
  CHECK(vulkan::record_reset({}, commands) == Status::InvalidArgument);
  CHECK(vulkan::record_reset(state, VK_NULL_HANDLE) == Status::InvalidArgument);
  host->take_log();
  REQUIRE(vulkan::make_state(plans.logs, {r.memory.buffer, 0}, &in_io) == Status::Ok);
  host->refused(r.record(plans.logs, commands, 0, 1, in_io, 0), Status::InvalidArgument,
                "lies in the memory of the State");
  CHECK(calls("CmdDispatch") + calls("CmdPipelineBarrier") == 0);
  host->end(commands);

  State beside, within;
  REQUIRE(vulkan::make_state(plans.logs, {r.memory.buffer, 0}, &beside) == Status::Ok);
  REQUIRE(vulkan::make_state(plans.logs, {r.memory.buffer, 256}, &within) == Status::Ok);
  host->refused(vulkan::record_copy(beside, within, commands), Status::InvalidArgument, "overlap");
  host->refused(within.copy(beside), Status::InvalidArgument, "overlap");
  CHECK(in_io.copy(beside) == Status::Ok);  // one place for a State
  host->refused(vulkan::make_state(plans.logs, {}, &none), Status::InvalidArgument, "the VkBuffer is null");
  host->refused(vulkan::make_state(plans.logs, {r.memory.buffer, 4}, &none), Status::InvalidArgument,
                "offset 4 is no multiple of");
  host->refused(vulkan::make_state(plans.logs, {r.memory.buffer, 0, 64}, &none), Status::BufferTooSmall,
                "64 were given");
  CHECK(vulkan::make_state(on_cpu, {r.memory.buffer, 0}, &none) == Status::InvalidArgument);
  CHECK(vulkan::make_state(plans.logs, {r.memory.buffer, 0}, nullptr) == Status::InvalidArgument);
  CHECK(vulkan::state_needs(plans.logs, nullptr) == Status::InvalidArgument);
  std::vector<std::byte> memory(4096);
  host->refused(plans.logs.make_state(memory, &none), Status::Unsupported, "host memory is for the CPU device");
  CHECK_FALSE(none.valid());
  REQUIRE(state.save(&blob) == Status::Ok);
  CHECK(blob == kept);
}

TEST_CASE("state: a host that gives no queue", "[vulkan][state]") {
  const auto host = HostVulkan::create({.queue = false});
  if (host == nullptr) return;
  Plans plans(host->host_device());
  Recordings r(*host);
  State a = plans.make(), b = plans.make();
  std::vector<std::byte> blob;
  CHECK(a.reset() == Status::Unsupported);
  CHECK(a.copy(b) == Status::Unsupported);
  CHECK(a.save(&blob) == Status::Unsupported);
  CHECK(host->take_log().find("the host gave no queue") != std::string::npos);
  const VkCommandBuffer commands = host->begin();
  REQUIRE(vulkan::record_reset(a, commands) == Status::Ok);
  REQUIRE(r.record(plans.plain, commands, 0, 3, a) == Status::Ok);
  REQUIRE(vulkan::record_copy(b, a, commands) == Status::Ok);
  REQUIRE(r.record(plans.plain, commands, 1, 4, b) == Status::Ok);
  host->end(commands);
  host->submit_and_wait(commands);
  CHECK(r.y(0) == all(3));
  CHECK(r.y(1) == all(7));
}

TEST_CASE("state: a run over several frames, and what may not come between", "[vulkan][state]") {
  const auto host = HostVulkan::create({});
  if (host == nullptr) return;
  Plans plans(host->host_device());
  Recordings r(*host);
  State a = plans.make(), b = plans.make(), c = plans.make();
  const auto part = [&](const Plan& plan, uint32_t i, float x, const State& state, int64_t at, vulkan::Cursor* cursor) {
    const VkCommandBuffer commands = host->begin();
    const Status status = r.record(plan, commands, i, x, state, at, 0.0, cursor);
    host->end(commands);
    if (status == Status::Ok) host->submit_and_wait(commands);
    return status;
  };
  for (int64_t at = 0; at < 3; ++at) {
    vulkan::Cursor cursor;
    int parts = 0;
    for (; !cursor.done(); ++parts) REQUIRE(part(plans.logs, 0, 2, a, at, &cursor) == Status::Ok);
    CHECK(parts >= 3);
    CHECK(r.y(0) == all(static_cast<float>(2 + at)));  // the mean of 2, 4, ...
  }
  const auto refused = [&](const char* text, const auto& between) {
    vulkan::Cursor cursor;
    REQUIRE(part(plans.logs, 0, 1, a, 0, &cursor) == Status::Ok);
    between();
    CHECK(part(plans.logs, 0, 1, a, 0, &cursor) == Status::InvalidArgument);
    const std::string log = host->take_log();
    INFO(log);
    CHECK(log.find(text) != std::string::npos);
  };
  Graph reads;
  Plan reader;
  reads.output("y", reads.state("sum", {1, 16}));
  REQUIRE(plans.device.compile(reads, {}, &reader) == Status::Ok);
  const char* used = "the State was used by another run or written since";
  std::vector<float> x = all(1), y(16);
  std::vector<std::byte> blob;
  REQUIRE(b.save(&blob) == Status::Ok);
  refused(used, [&] { REQUIRE(plans.plain.run({{"x", x}, {"y", y}}, {}, {.state = a}) == Status::Ok); });
  refused(used, [&] { REQUIRE(reader.run({{"y", y}}, {}, {.state = a}) == Status::Ok); });
  refused(used, [&] { REQUIRE(a.reset() == Status::Ok); });
  refused(used, [&] { REQUIRE(a.copy(b) == Status::Ok); });
  refused(used, [&] { REQUIRE(a.load(blob) == Status::Ok); });
  refused(used, [&] {
    vulkan::Cursor other;
    REQUIRE(part(plans.plain, 1, 1, a, -1, &other) == Status::Ok);
  });
  vulkan::Cursor cursor;  // another State does not matter
  REQUIRE(part(plans.logs, 0, 1, a, 0, &cursor) == Status::Ok);
  REQUIRE(plans.plain.run({{"x", x}, {"y", y}}, {}, {.state = b}) == Status::Ok);
  REQUIRE(b.save(&blob) == Status::Ok);
  CHECK(part(plans.logs, 0, 1, c, 0, &cursor) == Status::InvalidArgument);
  while (!cursor.done()) REQUIRE(part(plans.logs, 0, 1, a, 0, &cursor) == Status::Ok);
  host->take_log();
}

TEST_CASE("state: a plan with neither inputs nor outputs", "[vulkan][state]") {
  const auto host = HostVulkan::create({});
  if (host == nullptr) return;
  Device device;
  Graph g;
  Plan plan;
  State state;
  const Tensor s = g.state("s", {4});
  (void)g.assign(s, g.scale(s, 0.5f));
  REQUIRE(vulkan::adopt(host->host_device(), &device) == Status::Ok);
  REQUIRE(device.compile(g, {}, &plan) == Status::Ok);
  REQUIRE(plan.make_state(&state) == Status::Ok);
  std::vector<float> values = {1, 2, 3, 4};
  REQUIRE(state.write("s", std::as_bytes(std::span(values))) == Status::Ok);
  REQUIRE(plan.run({}, {}, {.state = state}) == Status::Ok);
  REQUIRE(state.read("s", std::as_writable_bytes(std::span(values))) == Status::Ok);
  CHECK(values == std::vector<float>{0.5f, 1, 1.5f, 2});
}

TEST_CASE("state: more than one piece of staging memory, and more ranges than one command takes",
          "[vulkan][state][slow]") {
  const auto host = HostVulkan::create({});
  if (host == nullptr) return;
  constexpr int64_t kRows = 5000, kColumns = 1000;  // 19 MiB
  for (const bool discrete : {false, true}) {
    pretend({.discrete = discrete, .non_coherent = discrete});
    Device device;
    Graph g;
    Plan plan;
    State state;
    const Tensor s = g.state("s", {kRows, kColumns});
    g.output("y", g.slice(s, 0, kRows - 1, 1));
    REQUIRE(vulkan::adopt(host->host_device(), &device) == Status::Ok);
    REQUIRE(device.compile(g, {}, &plan) == Status::Ok);
    REQUIRE(plan.make_state(&state) == Status::Ok);
    std::vector<float> values = pattern(kRows * kColumns, 3), back(values.size()), column = pattern(kRows, 4);
    REQUIRE(state.write("s", std::as_bytes(std::span(values))) == Status::Ok);
    REQUIRE(state.write("s", std::as_bytes(std::span(column)), {1, 5, 1}) == Status::Ok);
    for (size_t i = 0; i < column.size(); ++i) values[i * kColumns + 5] = column[i];
    REQUIRE(state.read("s", std::as_writable_bytes(std::span(back))) == Status::Ok);
    CHECK((back == values));
    std::vector<float> again(column.size()), y(kColumns);
    REQUIRE(state.read("s", std::as_writable_bytes(std::span(again)), {1, 5, 1}) == Status::Ok);
    CHECK((again == column));
    REQUIRE(plan.run({{"y", y}}, {}, {.state = state}) == Status::Ok);
    CHECK(std::equal(y.begin(), y.end(), values.end() - kColumns));
  }
  pretend({});
  CHECK(live_objects() == "");
  CHECK(host->take_validation() == "");
}

TEST_CASE("state: whatever call fails, the failure is returned and nothing is left behind",
          "[vulkan][state][failure][slow]") {
  const auto host = HostVulkan::create({});
  if (host == nullptr) return;
  for (const auto& [error, expected] : {std::pair{VK_ERROR_OUT_OF_DEVICE_MEMORY, Status::OutOfDeviceMemory},
                                        {VK_ERROR_OUT_OF_HOST_MEMORY, Status::OutOfMemory},
                                        {VK_ERROR_DEVICE_LOST, Status::DeviceLost}}) {
    std::optional<Plans> plans;
    std::vector<float> x = all(2), y(16);
    std::string before;  // objects of the plans
    std::string function = "none yet";
    for (uint64_t call = 1; !function.empty(); ++call) {
      if (call == 1 || error == VK_ERROR_DEVICE_LOST) {
        plans.reset();
        plans.emplace(host->host_device());
        REQUIRE(plans->logs.run({{"x", x}, {"y", y}}, {}, {.state = plans->make()}) == Status::Ok);
        before = live_objects();
      }
      std::vector<std::byte> blob, row(64);
      Status status = Status::Ok;
      {
        State a, b;
        inject_failure(call, error);
        status = plans->logs.make_state(&a);
        if (status == Status::Ok) status = plans->logs.make_state(&b);
        if (status == Status::Ok) status = plans->logs.run({{"x", x}, {"y", y}}, {}, {.state = a});
        if (status == Status::Ok) status = b.copy(a);
        if (status == Status::Ok) status = b.save(&blob);
        if (status == Status::Ok) status = b.write("log", row, {0, 2, 1});
        if (status == Status::Ok) status = b.read("log", row, {1, 3, 2});
        if (status == Status::Ok) status = a.load(blob);
        if (status == Status::Ok) status = a.reset();
        function = injected_into();
        inject_failure(0, VK_SUCCESS);
      }
      INFO("call " << call << ", " << function);
      // heed continues without an object's name, may use another memory type, and repeats a failed wait.
      const bool may_go_on = function == "SetDebugUtilsObjectNameEXT" || function == "AllocateMemory" ||
                             (function == "WaitForFences" && error != VK_ERROR_DEVICE_LOST);
      if (!may_go_on || status != Status::Ok) CHECK(status == (function.empty() ? Status::Ok : expected));
      CHECK(live_objects() == before);
      host->take_log();
      REQUIRE(call < 200);
    }
    CHECK(y == all(2));
    plans.reset();
    CHECK(live_objects() == "");
  }
}

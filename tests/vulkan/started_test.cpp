// Started runs on Vulkan devices, while the host's thread is free.
#include <optional>
#include <thread>

#include "harness/catch.hpp"
#include "vulkan/host_plan.hpp"

using namespace heed;
using namespace heed::test;

namespace {

// y = sum += x, where the sum is a state.
Graph running_sum() {
  Graph g;
  const Tensor x = g.input("x", {1, 16});
  g.output("y", g.assign(g.state("sum", {1, 16}), g.add(g.state("sum", {1, 16}), x)));
  return g;
}

std::vector<float> filled(float x) { return std::vector<float>(16, x); }

void wait_by_asking(StartedRun& started) {
  while (!started.done()) std::this_thread::yield();
}

}  // namespace

TEST_CASE("started: runs of several plans at once give what run gives", "[vulkan][started]") {
  const auto host = HostVulkan::create({});
  if (host == nullptr) return;
  for (const bool discrete : {false, true}) {
    pretend({.discrete = discrete, .non_coherent = discrete});
    Block a = make_block(*host), b = make_block(*host);
    const Sample samples[] = {make_sample(a.cpu_plan, 2, 17, 1), make_sample(a.cpu_plan, 3, 37, 2)};
    for (int repeat = 0; repeat < 4; ++repeat) {
      std::vector<float> y(samples[0].y.size()), z(samples[1].y.size());
      StartedRun first, second;
      const auto start = [](Plan& plan, const Sample& s, std::vector<float>& out, StartedRun* started) {
        return plan.start({{"x", s.x}, {"padding", s.padding}, {"y", out}}, {{"batch", s.batch}, {"tokens", s.tokens}},
                          {}, started);
      };
      REQUIRE(start(a.plan, samples[0], y, &first) == Status::Ok);
      REQUIRE(start(b.plan, samples[1], z, &second) == Status::Ok);
      host->refused(start(a.plan, samples[0], y, &second), Status::InvalidArgument, "*started holds a run");
      if (repeat % 2 == 0) wait_by_asking(second);
      CHECK(second.wait() == Status::Ok);
      CHECK(first.wait() == Status::Ok);
      CHECK(first.wait() == Status::Ok);
      CHECK(difference(y.data(), samples[0].y) == "");
      CHECK(difference(z.data(), samples[1].y) == "");
    }
  }
  pretend({});
}

TEST_CASE("started: what a run under way keeps for itself", "[vulkan][started][state]") {
  const auto host = HostVulkan::create({});
  if (host == nullptr) return;
  const HostVulkan::Memory memory = host->allocate(65536);
  Device device = host->adopt();
  Plan plan = compiled(device, running_sum()), other = compiled(device, running_sum());
  State state = state_of(plan);
  std::vector<float> x = filled(2), y(16), z(16);
  StartedRun started, again;
  REQUIRE(plan.start({{"x", x}, {"y", y}}, {}, {.state = state}, &started) == Status::Ok);
  const auto refuses = [&](Status status, const char* words) { host->refused(status, Status::InvalidArgument, words); };
  refuses(plan.run({{"x", x}, {"y", z}}, {}, {.state = state}), "the plan is in use already");
  refuses(plan.start({{"x", x}, {"y", z}}, {}, {.state = state}, &again), "the plan is in use already");
  refuses(other.run({{"x", x}, {"y", z}}, {}, {.state = state}), "the State is in use already");
  refuses(state.reset(), "the State is in use already");
  refuses(vulkan::bind_scratch(plan, {memory.buffer}), "bind_scratch: slot 0 is in use by a run");
  refuses(vulkan::take_faults(plan), "take_faults: slot 0 is in use by a run");
  const vulkan::Buffer buffers[] = {{"x", memory.buffer, 0, 64}, {"y", memory.buffer, 1024, 64}};
  const VkCommandBuffer commands = host->begin();
  refuses(vulkan::record(plan, commands, {.buffers = buffers, .slot = 0, .state = state}),
          "record: slot 0 is in use by a run");
  // Another slot is free. Work recorded there executes after the run, on the same queue.
  std::fill_n(reinterpret_cast<float*>(memory.mapped), 16, 10.0f);
  CHECK(vulkan::record(plan, commands, {.buffers = buffers, .slot = 1, .state = state}) == Status::Ok);
  host->end(commands);
  CHECK(started.wait() == Status::Ok);
  host->submit_and_wait(commands);
  CHECK(y == filled(2));
  CHECK(std::memcmp(memory.mapped + 1024, filled(12).data(), 64) == 0);

  // The host destroys its handles while a run still uses them.
  REQUIRE(plan.start({{"x", x}, {"y", y}}, {}, {.state = state}, &started) == Status::Ok);
  plan = other = Plan();
  state = State();
  device = Device();
  CHECK(live_objects() != "");
  CHECK(started.wait() == Status::Ok);
  CHECK(y == filled(14));
  started = StartedRun();
  CHECK(live_objects() == "");
  host->free(memory);
}

TEST_CASE("started: a device that the host adopted without a queue", "[vulkan][started]") {
  const auto host = HostVulkan::create({.queue = false});
  if (host == nullptr) return;
  Graph g;
  g.output("y", g.scale(g.input("x", {16}), 2.0f));
  Plan plan = compiled(host->adopt(), g);
  std::vector<float> x = filled(2), y(16);
  StartedRun started;
  host->refused(plan.start({{"x", x}, {"y", y}}, {}, {}, &started), Status::Unsupported, "gave no queue");
  CHECK(started.wait() == Status::InvalidArgument);
  CHECK(plan.run({{"x", x}, {"y", y}}) == Status::Unsupported);
  host->take_log();
}

TEST_CASE("started: ids outside of the table are told by wait", "[vulkan][started]") {
  const auto host = HostVulkan::create({});
  if (host == nullptr) return;
  Device device = host->adopt();
  Plan plan = compiled(device, small_graph(), uploaded(device, small_weights().list()));
  const std::vector<int32_t> ids = {4, 99, 2};
  std::vector<float> y(12);
  StartedRun started;
  REQUIRE(plan.start({{"ids", ids}, {"y", y}}, {}, {}, &started) == Status::Ok);
  CHECK(started.wait() == Status::IndexOutOfRange);
  host->refused(started.wait(), Status::IndexOutOfRange, "an id is outside the table");
  {
    StartedRun forgotten;
    REQUIRE(plan.start({{"ids", ids}, {"y", y}}, {}, {}, &forgotten) == Status::Ok);
  }
  CHECK_THAT(host->take_log(), holds("an id is outside the table"));
}

TEST_CASE("started: a run that takes too long, or loses the device, and the runs beside it",
          "[vulkan][started][failure]") {
  const auto host = HostVulkan::create({});
  if (host == nullptr) return;
  Graph slow, quick;
  slow.output("y", slow.layernorm(slow.input("x", {1, 16}), {}, {}, 1e-5f));
  quick.output("y", quick.scale(quick.input("x", {1, 16}), 2.0f));
  std::vector<float> x = filled(2), y(16), z(16);
  for (const bool hangs : {true, false}) {
    for (const bool waits : {true, false}) {
      INFO((hangs ? "hangs" : "loses") << (waits ? ", waited for" : ", dropped"));
      const Device device = adopted(sabotaged(*host));
      Plan a = compiled(device, slow), b = compiled(device, quick);
      sabotage(hangs ? Sabotage{.hang = "layernorm_f32"} : Sabotage{.lose = "layernorm_f32"});
      StartedRun first, second;
      REQUIRE(a.start({{"x", x}, {"y", y}}, {}, {.timeout_ms = 50}, &first) == Status::Ok);
      REQUIRE(b.start({{"x", x}, {"y", z}}, {}, {}, &second) == Status::Ok);
      if (waits) {
        CHECK(first.wait() == Status::DeviceLost);
        CHECK(first.wait() == Status::DeviceLost);
      } else {
        first = StartedRun();
      }
      CHECK_THAT(host->take_log(), holds(hangs ? "did not finish within 50 ms" : "VK_ERROR_DEVICE_LOST"));
      CHECK(second.done());
      host->refused(second.wait(), Status::DeviceLost, "was lost earlier");
      host->refused(a.start({{"x", x}, {"y", y}}, {}, {}, &first), Status::DeviceLost, "was lost earlier");
    }
  }
  sabotage({});
  CHECK(live_objects() == "");
}

TEST_CASE("started: a device that is found lost by asking", "[vulkan][started][failure]") {
  const auto host = HostVulkan::create({});
  if (host == nullptr) return;
  Graph g;
  g.output("y", g.layernorm(g.input("x", {1, 16}), {}, {}, 1e-5f));
  Plan plan = compiled(adopted(sabotaged(*host)), g);
  std::vector<float> x = filled(2), y(16);
  sabotage({.lose = "layernorm_f32"});
  StartedRun started;
  REQUIRE(plan.start({{"x", x}, {"y", y}}, {}, {}, &started) == Status::Ok);
  wait_by_asking(started);
  host->refused(started.wait(), Status::DeviceLost, "VK_ERROR_DEVICE_LOST");
  sabotage({});
}

TEST_CASE("started: whatever call fails, the failure is returned and nothing is left behind",
          "[vulkan][started][failure][slow]") {
  const auto host = HostVulkan::create({});
  if (host == nullptr) return;
  std::vector<float> x = filled(2), y(16);
  for (const auto& [error, expected] : {std::pair{VK_ERROR_OUT_OF_DEVICE_MEMORY, Status::OutOfDeviceMemory},
                                        {VK_ERROR_OUT_OF_HOST_MEMORY, Status::OutOfMemory},
                                        {VK_ERROR_DEVICE_LOST, Status::DeviceLost}}) {
    for (const bool asks : {false, true}) {
      std::string function = "none yet";
      uint32_t waits = 0;
      Device device;  // its pipelines serve all plans, unless it was lost
      for (uint64_t call = 1; !function.empty(); ++call) {
        REQUIRE(call < 200);
        if (call == 1 || error == VK_ERROR_DEVICE_LOST) device = host->adopt();
        Plan plan = compiled(device, running_sum());
        State state = state_of(plan);
        std::fill(y.begin(), y.end(), 0.0f);
        StartedRun started;
        inject_failure(call, error);
        Status status = plan.start({{"x", x}, {"y", y}}, {}, {.state = state}, &started);
        // Polls only a few times: how often it would have to poll depends on the machine, and each poll is a counted call.
        for (int i = 0; status == Status::Ok && asks && i < 3 && !started.done(); ++i) {
        }
        if (status == Status::Ok) status = started.wait();
        function = injected_into();
        inject_failure(0, VK_SUCCESS);
        INFO("call " << call << ", " << function << (asks ? ", asked for" : ""));
        waits += function == "WaitForFences";
        // heed continues without an object's name, may use another memory type, and repeats a failed wait.
        const bool may_go_on = function == "SetDebugUtilsObjectNameEXT" || function == "AllocateMemory" ||
                               (function == "WaitForFences" && error != VK_ERROR_DEVICE_LOST);
        if (!may_go_on || status != Status::Ok) CHECK(status == (function.empty() ? Status::Ok : expected));
        if (status == Status::Ok) CHECK(y == filled(2));
        // The plan and the State are free again.
        if (error != VK_ERROR_DEVICE_LOST && status != Status::Ok) {
          CHECK(plan.run({{"x", x}, {"y", y}}, {}, {.state = state}) == Status::Ok);
          CHECK(state.reset() == Status::Ok);
        }
        host->take_log();
      }
      CHECK(waits > 0);
      device = {};
      CHECK(live_objects() == "");
    }
  }
}

TEST_CASE("started: on each device that heed opens", "[vulkan][started]") {
  const std::string word = first_gpu();
  if (word.empty()) return;
  Messages messages;
  Device device = open_device({.select = word, .log = messages.log(), .validation = true});
  Plan plan = compiled(device, running_sum());
  State state = state_of(plan);
  std::vector<float> x = filled(2), y(16);
  for (int i = 1; i <= 8; ++i) {
    StartedRun started;
    REQUIRE(plan.start({{"x", x}, {"y", y}}, {}, {.state = state}, &started) == Status::Ok);
    if (i % 2 == 0) wait_by_asking(started);
    REQUIRE(started.wait() == Status::Ok);
    CHECK(y == filled(static_cast<float>(2 * i)));
  }
  StartedRun last;
  REQUIRE(plan.start({{"x", x}, {"y", y}}, {}, {.state = state}, &last) == Status::Ok);
  plan = Plan();
  state = State();
  device = Device();
  CHECK(last.wait() == Status::Ok);
  CHECK(y == filled(18));
  CHECK(messages.text == "");
}

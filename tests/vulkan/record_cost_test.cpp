// Measures what recording costs on the host's thread. Hidden: heed_tests "[record-cost]"
#include <chrono>
#include <heed/vulkan_frames.hpp>

#include "harness/catch.hpp"
#include "vulkan/host_plan.hpp"

using namespace heed;
using namespace heed::test;

namespace {

constexpr int64_t kWidth = 64, kLayers = 6;
constexpr VkDeviceSize kY = 65536;

// A small encoder on a host without the validation layer, so that the layer's work is not measured.
struct Encoder {
  explicit Encoder(HostVulkan& host, const CompileOptions& options) {
    vulkan::HostDevice plain = host.host_device();
    plain.get_instance_proc_addr = host.vk().GetInstanceProcAddr;
    plain.debug_utils = false;
    REQUIRE(vulkan::adopt(plain, &device) == Status::Ok);
    Tensors tensors;
    Graph g;
    const Dim tokens = g.extent("tokens", 128);
    Tensor x = g.input("x", {1, tokens, kWidth});
    for (int64_t layer = 0; layer < kLayers; ++layer) {
      const std::string name = "layer" + std::to_string(layer);
      tensors.add(name + ".wqkv.weight", {3 * kWidth, kWidth}, 1);
      tensors.add(name + ".wqkv.bias", {3 * kWidth}, 2);
      tensors.add(name + ".wo.weight", {kWidth, kWidth}, 3);
      tensors.add(name + ".wo.bias", {kWidth}, 4);
      x = g.layernorm(g.add(x, nn::self_attention(g, x, name, {.heads = 4})), {}, {}, 1e-5f);
    }
    g.output("y", x);
    REQUIRE(device.upload(tensors.list(), &weights) == Status::Ok);
    REQUIRE(device.compile(g, weights, &plan, options) == Status::Ok);
    memory = host.allocate(2 * kY);
    buffers[0] = {"x", memory.buffer, 0};
    buffers[1] = {"y", memory.buffer, kY};
  }
  Device device;
  Weights weights;
  Plan plan;
  HostVulkan::Memory memory;
  vulkan::Buffer buffers[2];
};

double milliseconds_since(std::chrono::steady_clock::time_point begin) {
  return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - begin).count();
}

}  // namespace

TEST_CASE("record: nanoseconds per dispatch on the CPU", "[.record-cost]") {
  const auto host = HostVulkan::create({.validation = false});
  if (host == nullptr) return;
  Encoder encoder(*host, {});
  uint32_t dispatches = 0;
  for (const PassInfo& pass : encoder.plan.passes()) dispatches += pass.dispatches;
  std::vector<double> nanoseconds;
  for (int round = 0; round < 200; ++round) {
    const ExtentValue extents[] = {{"tokens", 1 + round % 128}};
    const VkCommandBuffer commands = host->begin();
    const auto begin = std::chrono::steady_clock::now();
    REQUIRE(vulkan::record(encoder.plan, commands, {.buffers = encoder.buffers, .extents = extents}) == Status::Ok);
    nanoseconds.push_back(milliseconds_since(begin) * 1e6);
    host->end(commands);
  }
  std::sort(nanoseconds.begin(), nanoseconds.end());
  const double median = nanoseconds[nanoseconds.size() / 2];
  WARN("record: " << dispatches << " dispatches, " << median / 1000 << " us (min " << nanoseconds.front() / 1000
                  << ", max " << nanoseconds.back() / 1000 << "), " << median / dispatches << " ns per dispatch");
  CHECK(median / dispatches < 50'000);
  encoder.plan = {};
  host->free(encoder.memory);
}

// How well parts keep to their budget once the passes have been measured.
TEST_CASE("record_some: milliseconds of parts against their budget", "[.record-cost]") {
  const auto host = HostVulkan::create({.validation = false});
  if (host == nullptr || !host->has_timestamps()) return;
  Encoder encoder(*host, {.timestamps = true});
  double whole = 0;
  for (int round = 0; round < 8; ++round) {
    const VkCommandBuffer commands = host->begin();
    REQUIRE(vulkan::record(encoder.plan, commands, {.buffers = encoder.buffers}) == Status::Ok);
    host->end(commands);
    const auto begin = std::chrono::steady_clock::now();
    host->submit_and_wait(commands);
    whole = milliseconds_since(begin);
  }
  std::vector<PassTime> times;
  REQUIRE(encoder.plan.timings(&times) == Status::Ok);
  vulkan::Estimate all;
  REQUIRE(vulkan::estimate(encoder.plan, {}, {}, &all) == Status::Ok);
  const double budget = all.milliseconds / 5;
  std::vector<double> took;
  for (int round = 0; round < 20; ++round) {
    vulkan::Cursor cursor;
    while (!cursor.done()) {
      const VkCommandBuffer commands = host->begin();
      REQUIRE(vulkan::record_some(encoder.plan, commands, {.buffers = encoder.buffers}, budget, &cursor) == Status::Ok);
      host->end(commands);
      const auto begin = std::chrono::steady_clock::now();
      host->submit_and_wait(commands);
      took.push_back(milliseconds_since(begin));
    }
  }
  const double parts = static_cast<double>(took.size()) / 20;
  std::sort(took.begin(), took.end());
  WARN("record_some: a run of " << whole << " ms, estimated at " << all.milliseconds << "; with a budget of " << budget
                                << " ms: " << parts << " parts, each median " << took[took.size() / 2]
                                << " ms, 95 of 100 below " << took[took.size() * 95 / 100]
                                << " (submission and waiting included)");
  CHECK(parts > 1);
  encoder.plan = {};
  host->free(encoder.memory);
}

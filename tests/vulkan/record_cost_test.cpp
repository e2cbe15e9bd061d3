// Measures the host's time of recording. Hidden: heed_tests "[record-cost]"
#include <chrono>
#include <heed/decoder.hpp>
#include <heed/vulkan_frames.hpp>

#include "graph/graph_data.hpp"
#include "harness/catch.hpp"
#include "harness/environment.hpp"
#include "vulkan/host_plan.hpp"

using namespace heed;
using namespace heed::test;

namespace {

constexpr VkDeviceSize kOutput = 65536;

// A plan with one input and one output, on a host without the validation layer, whose work would be measured too.
struct Recorded {
  Recorded(HostVulkan& host, const Graph& g, const char* input, const char* output,
           const CompileOptions& options = {}) {
    vulkan::HostDevice plain = host.host_device();
    plain.get_instance_proc_addr = host.vk().GetInstanceProcAddr;
    plain.debug_utils = false;
    REQUIRE(vulkan::adopt(plain, &device) == Status::Ok);
    Tensors tensors;
    tensors.add_weights_of(g);
    REQUIRE(device.upload(tensors.list(), &weights) == Status::Ok);
    REQUIRE(device.compile(g, weights, &plan, options) == Status::Ok);
    if (!g.data().states.empty()) REQUIRE(plan.make_state(&state) == Status::Ok);
    for (const PassInfo& pass : plan.passes()) dispatches += pass.dispatches;
    memory = host.allocate(2 * kOutput);
    buffers[0] = {input, memory.buffer, 0};
    buffers[1] = {output, memory.buffer, kOutput};
  }

  // The median, least and most microseconds of 200 recordings. The extent or position `number` takes the values 1 to `most` in turn.
  std::string measure(HostVulkan& host, const char* number, int64_t most, double* median) const {
    std::vector<double> took;
    for (int round = 0; round < 200; ++round) {
      const ExtentValue values[] = {{number, 1 + round % most}};
      const VkCommandBuffer commands = host.begin();
      const auto begin = std::chrono::steady_clock::now();
      REQUIRE(vulkan::record(plan, commands, {.buffers = buffers, .extents = values, .state = state}) == Status::Ok);
      const std::chrono::duration<double, std::micro> time = std::chrono::steady_clock::now() - begin;
      took.push_back(time.count());
      host.end(commands);
    }
    std::sort(took.begin(), took.end());
    *median = took[took.size() / 2];
    return std::to_string(dispatches) + " dispatches, " + std::to_string(*median) + " us (min " +
           std::to_string(took.front()) + ", max " + std::to_string(took.back()) + "), " +
           std::to_string(*median * 1000 / dispatches) + " ns per dispatch";
  }

  Device device;
  Weights weights;
  Plan plan;
  State state;
  uint32_t dispatches = 0;
  HostVulkan::Memory memory;
  vulkan::Buffer buffers[2];
};

Graph small_encoder() {
  constexpr int64_t kWidth = 64, kLayers = 6;
  Graph g;
  Tensor x = g.input("x", {1, g.extent("tokens", 128), kWidth});
  for (int64_t layer = 0; layer < kLayers; ++layer) {
    const std::string name = "layer" + std::to_string(layer);
    x = g.layernorm(g.add(x, nn::self_attention(g, x, name, {.heads = 4})), {}, {}, 1e-5f);
  }
  g.output("y", x);
  return g;
}

// One token of a decoder as deep as SmolLM2-135M. Its width is a fourth, since the time of recording does not depend on the width.
Graph token() {
  const DecoderConfig config = {
      .layers = 30, .width = 144, .heads = 9, .kv_heads = 3, .hidden = 384, .vocabulary = 1000};
  Graph g;
  const Dim past = g.position("past", 511);
  const Tensor ids = g.input("ids", {1, 1}, DType::I32);
  g.output("next", g.argmax(nn::decoder(g, ids, config, {.cache = {.capacity = 512, .past = past}}).logits));
  return g;
}

double milliseconds_since(std::chrono::steady_clock::time_point begin) {
  return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - begin).count();
}

}  // namespace

TEST_CASE("record: nanoseconds per dispatch on the CPU", "[.record-cost]") {
  const auto host = HostVulkan::create({.validation = false});
  if (host == nullptr) return;
  Recorded encoder(*host, small_encoder(), "x", "y");
  double median = 0;
  WARN("record: " << encoder.measure(*host, "tokens", 128, &median));
  CHECK(median / encoder.dispatches < 50);
  encoder.plan = {};
  host->free(encoder.memory);
}

TEST_CASE("record: microseconds for a decoder's token on the CPU", "[.record-cost]") {
  const auto host = HostVulkan::create({.validation = false});
  if (host == nullptr) return;
  Recorded decoder(*host, token(), "ids", "next");
  double median = 0;
  WARN("record: a token, " << decoder.measure(*host, "past", 511, &median));
  CHECK(decoder.dispatches <= 220);
  CHECK(median < 5000);
  decoder.plan = {};
  decoder.state = {};
  host->free(decoder.memory);
}

// How closely parts keep to their budget once the passes have been measured.
TEST_CASE("record_some: milliseconds of parts against their budget", "[.record-cost]") {
  const auto host = HostVulkan::create({.validation = false});
  if (host == nullptr || !host->has_timestamps()) return;
  Recorded encoder(*host, small_encoder(), "x", "y", {.timestamps = true});
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

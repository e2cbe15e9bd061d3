// What recording costs on the host's thread. Hidden, since it measures: heed_tests "[record-cost]"
#include <algorithm>
#include <chrono>

#include "catch.hpp"
#include "vulkan/host_plan.hpp"
#include "vulkan/host_vulkan.hpp"

using namespace heed;
using namespace heed::test;

TEST_CASE("record: nanoseconds per dispatch on the CPU", "[.record-cost]") {
  const auto host = HostVulkan::create({.validation = false});
  if (host == nullptr) return;
  vulkan::HostDevice plain = host->host_device();
  plain.get_instance_proc_addr = host->vk().GetInstanceProcAddr;  // no counting
  plain.debug_utils = false;
  Device device;
  REQUIRE(vulkan::adopt(plain, &device) == Status::Ok);
  constexpr int64_t kWidth = 64, kLayers = 6;
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
  Weights weights;
  Plan plan;
  REQUIRE(device.upload(tensors.list(), &weights) == Status::Ok);
  REQUIRE(device.compile(g, weights, &plan) == Status::Ok);
  uint32_t dispatches = 0;
  for (const PassInfo& pass : plan.passes()) dispatches += pass.dispatches;
  const HostVulkan::Memory memory = host->allocate(65536);
  const vulkan::Buffer buffers[] = {{"x", memory.buffer, 0}, {"y", memory.buffer, 32768}};
  std::vector<double> nanoseconds;
  for (int round = 0; round < 200; ++round) {
    const ExtentValue extents[] = {{"tokens", 1 + round % 128}};
    const VkCommandBuffer commands = host->begin();
    const auto begin = std::chrono::steady_clock::now();
    REQUIRE(vulkan::record(plan, commands, {.buffers = buffers, .extents = extents}) == Status::Ok);
    nanoseconds.push_back(
        std::chrono::duration<double, std::nano>(std::chrono::steady_clock::now() - begin).count());
    host->end(commands);
  }
  std::sort(nanoseconds.begin(), nanoseconds.end());
  const double median = nanoseconds[nanoseconds.size() / 2];
  WARN("record: " << dispatches << " dispatches, " << median / 1000 << " us (min "
                  << nanoseconds.front() / 1000 << ", max " << nanoseconds.back() / 1000 << "), "
                  << median / dispatches << " ns per dispatch");
  CHECK(median / dispatches < 50'000);
  host->free(memory);
}

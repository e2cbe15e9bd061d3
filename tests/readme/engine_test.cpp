// The examples for engines do what they say, on a small program that owns the GPU.

#include <heed/vulkan_frames.hpp>

#include "readme/policy.hpp"
#include "vulkan/host_plan.hpp"

using namespace heed;
using namespace heed::test;

Status first_steps(const vulkan::HostDevice& host, std::span<const HostTensor> tensors, VkCommandBuffer cmd,
                   VkBuffer agents_buffer, VkBuffer look_buffer, int64_t count, Plan* kept);
Status load(const vulkan::HostDevice& host, std::span<const HostTensor> tensors, Plan* plan);
Status frame(const Plan& plan, VkCommandBuffer cmd, VkBuffer agents, VkBuffer items, VkBuffer chosen,
             int64_t agent_count, int64_t item_count, uint32_t frame_index);

struct Steering {
  Plan plan;
  vulkan::Cursor run;
  uint32_t runs = 0;
};
Status load(const vulkan::HostDevice& host, std::string_view file, Steering* steering);
Status frame(VkCommandBuffer cmd, VkBuffer agents, VkBuffer velocity, int64_t count, Steering* steering);

namespace {

constexpr int64_t kWidth = 64;

// The results of the CPU device for the same graph, with all extents given by the sizes of the inputs.
std::vector<float> on_cpu(const Graph& g, const Tensors& tensors, std::span<const HostBuffer> inputs,
                          std::span<const ExtentValue> extents, const char* output, size_t size) {
  const Device cpu = open_cpu();
  Plan plan = compiled(cpu, g, uploaded(cpu, tensors.list()));
  std::vector<float> values(size);
  std::vector<HostBuffer> buffers(inputs.begin(), inputs.end());
  buffers.emplace_back(output, values);
  REQUIRE(plan.run(buffers, extents) == Status::Ok);
  return values;
}

void fill(const HostVulkan::Memory& memory, const std::vector<float>& values) {
  std::memcpy(memory.mapped, values.data(), values.size() * sizeof(float));
}

}  // namespace

TEST_CASE("README: the first steps in an engine", "[readme][vulkan]") {
  const auto host = HostVulkan::create({});
  if (host == nullptr) return;
  constexpr int64_t kCount = 5;
  Tensors tensors;
  tensors.add("flock.wqkv.weight", {3 * kWidth, kWidth}, 1);
  tensors.add("flock.wqkv.bias", {3 * kWidth}, 2);
  tensors.add("flock.wo.weight", {kWidth, kWidth}, 3);
  tensors.add("flock.wo.bias", {kWidth}, 4);
  const std::vector<float> x = pattern(kCount * kWidth, 5);
  const HostVulkan::Memory agents = host->allocate(256 * kWidth * 4), look = host->allocate(256 * kWidth * 4);
  fill(agents, x);
  {
    Plan kept;
    const VkCommandBuffer commands = host->begin();
    const Status status =
        first_steps(host->host_device(), tensors.list(), commands, agents.buffer, look.buffer, kCount, &kept);
    INFO(host->take_log());
    REQUIRE(status == Status::Ok);
    host->end(commands);
    host->submit_and_wait(commands);
  }
  Graph g;
  g.output("look",
           nn::self_attention(g, g.input("agents", {1, g.extent("count", 256), kWidth}), "flock", {.heads = 4}));
  const std::vector<HostBuffer> inputs = {{"agents", x}};
  const std::vector<ExtentValue> extents = {{"count", kCount}};
  const std::vector<float> want = on_cpu(g, tensors, inputs, extents, "look", x.size());
  CHECK(difference(reinterpret_cast<const float*>(look.mapped), want) == "");
}

TEST_CASE("README: loading and two frames in an engine", "[readme][vulkan]") {
  const auto host = HostVulkan::create({});
  if (host == nullptr) return;
  Tensors tensors;
  tensors.add("choose.wq.weight", {kWidth, kWidth}, 1);
  tensors.add("choose.wq.bias", {kWidth}, 2);
  tensors.add("choose.wkv.weight", {2 * kWidth, kWidth}, 3);
  tensors.add("choose.wkv.bias", {2 * kWidth}, 4);
  tensors.add("choose.wo.weight", {kWidth, kWidth}, 5);
  tensors.add("choose.wo.bias", {kWidth}, 6);
  const HostVulkan::Memory agents = host->allocate(256 * kWidth * 4), items = host->allocate(1024 * kWidth * 4),
                           chosen = host->allocate(256 * kWidth * 4);
  Graph g;
  const Tensor from = g.input("agents", {1, g.extent("agents", 256), kWidth});
  const Tensor to = g.input("items", {1, g.extent("items", 1024), kWidth});
  g.output("chosen", nn::cross_attention(g, from, to, "choose", {.heads = 4}));
  {
    Plan plan;
    REQUIRE(load(host->host_device(), tensors.list(), &plan) == Status::Ok);
    for (uint32_t index : {0u, 1u}) {
      const int64_t agent_count = 3 + index, item_count = 17 + 40 * index;
      const std::vector<float> x = pattern(static_cast<size_t>(agent_count * kWidth), 7 + index);
      const std::vector<float> y = pattern(static_cast<size_t>(item_count * kWidth), 9 + index);
      fill(agents, x);
      fill(items, y);
      const VkCommandBuffer commands = host->begin(index);
      const Status status =
          frame(plan, commands, agents.buffer, items.buffer, chosen.buffer, agent_count, item_count, index);
      INFO(host->take_log());
      REQUIRE(status == Status::Ok);
      host->end(commands);
      host->submit_and_wait(commands);
      const std::vector<HostBuffer> inputs = {{"agents", x}, {"items", y}};
      const std::vector<ExtentValue> extents = {{"agents", agent_count}, {"items", item_count}};
      const std::vector<float> want = on_cpu(g, tensors, inputs, extents, "chosen", x.size());
      CHECK(difference(reinterpret_cast<const float*>(chosen.mapped), want) == "");
    }
  }
}

TEST_CASE("README: a policy of PyTorch in the frames of an engine", "[readme][vulkan][onnx]") {
  const auto host = HostVulkan::create({});
  if (host == nullptr) return;
  const Crowd crowd = read_crowd();
  const HostVulkan::Memory agents = host->allocate(256 * 6 * 4), velocity = host->allocate(256 * 2 * 4);
  fill(agents, crowd.agents);
  Steering steering;
  REQUIRE(load(host->host_device(), kPolicy, &steering) == Status::Ok);
  for (uint32_t index = 0; steering.runs < 3 && index < 500; ++index) {
    const VkCommandBuffer commands = host->begin(index % 2);
    const Status status =
        frame(commands, agents.buffer, velocity.buffer, static_cast<int64_t>(crowd.agents.size()) / 6, &steering);
    INFO(host->take_log());
    REQUIRE(status == Status::Ok);
    host->end(commands);
    host->submit_and_wait(commands);
  }
  REQUIRE(steering.runs == 3);
  CHECK(crowd.largest_difference(reinterpret_cast<const float*>(velocity.mapped)) < 2e-5f);
}

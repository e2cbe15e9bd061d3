// Runs the examples for engines in a small program that owns the GPU.

#include <heed/vulkan_frames.hpp>

#include "readme/policy.hpp"
#include "vulkan/host_plan.hpp"

using namespace heed;
using namespace heed::test;

namespace {

namespace readme {
// The lines of README.md, with a renderer's variables.
Status first_steps(const vulkan::HostDevice& host, std::span<const HostTensor> tensors, VkCommandBuffer cmd,
                   VkBuffer agents_buffer, VkBuffer look_buffer, int64_t count, Plan* kept) {
  Device device;
  Weights weights;
  Plan plan;
#include "pages/readme.1.cpp"
  *kept = plan;  // until the GPU has finished the command buffer
  return s;
}
}  // namespace readme
namespace first_frame {
#include "pages/first_frame.1.cpp"
#include "pages/first_frame.2.cpp"
}  // namespace first_frame
namespace from_onnx {
#include "pages/from_onnx.1.cpp"
}  // namespace from_onnx

constexpr int64_t kWidth = 64;

// The results of the CPU device for the same graph, with extents from the sizes of the inputs.
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
        readme::first_steps(host->host_device(), tensors.list(), commands, agents.buffer, look.buffer, kCount, &kept);
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
  const vulkan::HostDevice lent = host->host_device();
  const HostVulkan::Memory agents = host->allocate(256 * kWidth * 4), look = host->allocate(256 * kWidth * 4);
  Graph g;
  g.output("look",
           nn::self_attention(g, g.input("agents", {1, g.extent("count", 256), kWidth}), "flock", {.heads = 4}));
  std::vector<std::vector<float>> values;
  std::vector<std::vector<int64_t>> shapes;
  std::vector<HostTensor> tensors;
  REQUIRE(first_frame::random_weights(g, &values, &shapes, &tensors) == Status::Ok);
  REQUIRE(tensors.size() == 4);
  const Device cpu = open_cpu();
  const Plan on_host = compiled(cpu, g, uploaded(cpu, tensors));
  {
    first_frame::Flock flock;
    REQUIRE(first_frame::load(lent.instance, lent.physical_device, lent.device, lent.queue_family, lent.queue,
                              &flock) == Status::Ok);
    for (uint32_t index : {0u, 1u}) {
      const int64_t count = 3 + 40 * index;
      const std::vector<float> x = pattern(static_cast<size_t>(count * kWidth), 7 + index);
      fill(agents, x);
      const VkCommandBuffer commands = host->begin(index);
      const Status status =
          first_frame::frame(flock, commands, host->vk().CmdPipelineBarrier, agents.buffer, look.buffer, count, index);
      INFO(host->take_log());
      REQUIRE(status == Status::Ok);
      host->end(commands);
      host->submit_and_wait(commands);
      std::vector<float> want(x.size());
      Plan plan = on_host;
      REQUIRE(plan.run({{"agents", x}, {"look", want}}, {{"count", count}}) == Status::Ok);
      CHECK(difference(reinterpret_cast<const float*>(look.mapped), want) == "");
    }
  }
}

TEST_CASE("README: a policy of PyTorch in the frames of an engine", "[readme][vulkan][onnx]") {
  const auto host = HostVulkan::create({});
  if (host == nullptr) return;
  const Crowd crowd = read_crowd();
  const HostVulkan::Memory agents = host->allocate(256 * 6 * 4), velocity = host->allocate(256 * 2 * 4);
  fill(agents, crowd.agents);
  from_onnx::Steering steering;
  REQUIRE(from_onnx::load(host->host_device(), kPolicy, &steering) == Status::Ok);
  for (uint32_t index = 0; steering.runs < 3 && index < 500; ++index) {
    const VkCommandBuffer commands = host->begin(index % 2);
    const Status status = from_onnx::frame(commands, agents.buffer, velocity.buffer,
                                           static_cast<int64_t>(crowd.agents.size()) / 6, &steering);
    INFO(host->take_log());
    REQUIRE(status == Status::Ok);
    host->end(commands);
    host->submit_and_wait(commands);
  }
  REQUIRE(steering.runs == 3);
  CHECK(crowd.largest_difference(reinterpret_cast<const float*>(velocity.mapped)) < 2e-5f);
}

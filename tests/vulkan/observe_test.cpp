// Labels and names in captures, and heed's messages when the device is lost.

#include "vulkan/host_plan.hpp"
#include "vulkan/probe/instance.hpp"

using namespace heed;
using namespace heed::test;

namespace {

Graph chain() {
  Graph g;
  Tensor x = g.input("x", {4, 64});
  g.push_label("first");
  x = g.softmax(x);
  g.pop_label();
  g.push_label("second");
  x = g.layernorm(x, {}, {}, 1e-5f);
  g.push_label("inner");
  x = g.l2_normalize(x);
  g.output("y", x);
  return g;
}

}  // namespace

TEST_CASE("observe: a recording carries the labels of its passes, and pipelines and buffers have names",
          "[vulkan][observe]") {
  const auto host = HostVulkan::create({});
  if (host == nullptr) return;
  Device device = adopted(sabotaged(*host));
  (void)take_names(VK_OBJECT_TYPE_PIPELINE);
  (void)take_names(VK_OBJECT_TYPE_BUFFER);
  Plan plan = compiled(device, chain());
  std::vector<std::string> wanted_labels;
  for (const PassInfo& pass : plan.passes()) wanted_labels.push_back(pass.label);
  CHECK(wanted_labels == std::vector<std::string>{"first.softmax", "second.layernorm", "second.inner.l2_normalize"});
  const std::vector<std::string> pipelines = take_names(VK_OBJECT_TYPE_PIPELINE);
  for (const char* kernel : {"softmax_f32", "layernorm_f32", "l2_normalize_f32"})
    CHECK(std::any_of(pipelines.begin(), pipelines.end(),
                      [&](const std::string& name) { return name.starts_with(kernel); }));
  CHECK(pipelines.size() == plan.pipeline_count());
  CHECK(take_names(VK_OBJECT_TYPE_BUFFER) == std::vector<std::string>{"scratch"});

  const HostVulkan::Memory memory = host->allocate(4096);
  const vulkan::Buffer buffers[] = {{"x", memory.buffer, 0}, {"y", memory.buffer, 2048}};
  (void)take_labels();
  const VkCommandBuffer commands = host->begin();
  REQUIRE(vulkan::record(plan, commands, {.buffers = buffers}) == Status::Ok);
  host->end(commands);
  CHECK(take_labels() == wanted_labels);
}

TEST_CASE("observe: messages of the validation layer name the pass that was being recorded", "[vulkan][observe]") {
  VkDebugUtilsMessengerCallbackDataEXT data{};
  CHECK(vulkan::text_of(data).empty());
  data.pMessage = "vkCmdDispatch(): it is wrong";
  CHECK(vulkan::text_of(data) == "vkCmdDispatch(): it is wrong");
  VkDebugUtilsLabelEXT labels[2] = {};
  labels[0].pLabelName = "encoder.0.softmax";
  labels[1].pLabelName = "frame";
  data.cmdBufLabelCount = 2;
  data.pCmdBufLabels = labels;
  CHECK(vulkan::text_of(data) == "vkCmdDispatch(): it is wrong (in the pass 'encoder.0.softmax')");
}

TEST_CASE("observe: the last finished pass of a recording is known", "[vulkan][observe]") {
  const auto host = HostVulkan::create({});
  if (host == nullptr) return;
  Device device = adopted(sabotaged(*host));
  Plan plan = compiled(device, chain(), {}, {.progress = true});
  Plan without = compiled(device, chain());
  const HostVulkan::Memory memory = host->allocate(4096);
  const vulkan::Buffer buffers[] = {{"x", memory.buffer, 0}, {"y", memory.buffer, 2048}};
  std::memset(memory.mapped, 0, 4096);
  int32_t last = 7;
  for (uint32_t slot = 0; slot < 2; ++slot) {
    REQUIRE(vulkan::last_completed(plan, slot, &last) == Status::Ok);
    CHECK(last == -1);
  }
  for (const uint32_t fills : {0u, 1u, 2u, 3u, UINT32_MAX, 1u}) {
    sabotage({.fills = fills});
    host->record_and_wait(plan, {.buffers = buffers, .slot = 1});
    REQUIRE(vulkan::last_completed(plan, 1, &last) == Status::Ok);
    CHECK(last == static_cast<int32_t>(std::min(fills, 3u)) - 1);
    REQUIRE(vulkan::last_completed(plan, 0, &last) == Status::Ok);
    CHECK(last == -1);
  }
  CHECK(vulkan::last_completed(plan, 2, &last) == Status::InvalidArgument);
  CHECK(vulkan::last_completed(plan, 0, nullptr) == Status::InvalidArgument);
  CHECK(vulkan::last_completed(without, 0, &last) == Status::Unsupported);
  (void)host->take_log();

  // The log names the pass also when run loses the device.
  sabotage({.lose = "softmax_f32", .fills = 2});
  const std::vector<float> x = pattern(4 * 64, 1);
  std::vector<float> y(x.size());
  CHECK(plan.run({{"x", x}, {"y", y}}) == Status::DeviceLost);
  const std::string said = host->take_log();
  CHECK_THAT(said, holds("the last completed pass is 2 of 3, second.layernorm; second.inner.l2_normalize was not"));
  host->refused(plan.run({{"x", x}, {"y", y}}), Status::DeviceLost, "was lost earlier");
  CHECK(vulkan::last_completed(plan, 0, &last) == Status::Ok);
  CHECK(last == 1);
}

TEST_CASE("observe: run gives up after its time limit", "[vulkan][observe]") {
  const auto host = HostVulkan::create({});
  if (host == nullptr) return;
  Plan plan = compiled(adopted(sabotaged(*host)), chain());
  const std::vector<float> x = pattern(4 * 64, 1);
  std::vector<float> y(x.size());
  const HostBuffer buffers[] = {{"x", x}, {"y", y}};
  CHECK(plan.run(buffers, {}, {.timeout_ms = 60000}) == Status::Ok);
  sabotage({.hang = "layernorm_f32"});
  host->refused(plan.run(buffers, {}, {.timeout_ms = 50}), Status::DeviceLost, "did not finish within 50 ms");
  host->refused(plan.run(buffers, {}, {}), Status::DeviceLost, "was lost earlier");
}

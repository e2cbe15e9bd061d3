// Text generated on the device: many steps recorded into one command buffer, or each step spread over frames, without the host reading any
// token in between.
#include <heed/vulkan_frames.hpp>

#include "harness/catch.hpp"
#include "harness/setup.hpp"
#include "vulkan/host_vulkan.hpp"

namespace heed::test {
namespace {

constexpr int64_t kRoom = 24, kWords = 300, kWidth = 16;
constexpr uint32_t kSteps = 16;

Graph writer() {
  Graph g;
  const Dim at = g.position("at", kRoom - 2), length = g.sum(at, 1, kRoom - 1);
  const Tensor text = g.state("text", {1, kRoom}, DType::I32);
  const Tensor x = g.embedding(g.weight("table", {kWords, kWidth}), g.slice(text, 1, at, 1));
  const Tensor logits = g.linear(x, g.weight("weight", {kWords, kWidth}));
  const Tensor next = g.sample(logits, {.previous = text,
                                        .previous_count = length,
                                        .repetition_penalty = 1.1f,
                                        .temperature = 0.9f,
                                        .top_k = 60,
                                        .step = at});
  (void)g.append(text, next, 1, length);
  return g;
}

Tensors writer_weights() {
  Tensors tensors;
  tensors.add("table", {kWords, kWidth}, 1);
  tensors.add("weight", {kWords, kWidth}, 2);
  return tensors;
}

struct Writer {
  Device device;
  Weights weights;
  Plan plan;
  State state;

  Writer(Device on, const Tensors& tensors) : device(on) {
    REQUIRE(device.upload(tensors.list(), &weights) == Status::Ok);
    REQUIRE(device.compile(writer(), weights, &plan, {.record_slots = kSteps}) == Status::Ok);
    REQUIRE(plan.make_state(&state) == Status::Ok);
  }
  void start(int32_t first) {
    std::vector<int32_t> text(kRoom, 0);
    text[0] = first;
    REQUIRE(state.write("text", std::as_bytes(std::span(text))) == Status::Ok);
  }
  std::vector<int32_t> text() const {
    std::vector<int32_t> text(kRoom);
    REQUIRE(state.read("text", std::as_writable_bytes(std::span(text))) == Status::Ok);
    return text;
  }
};

}  // namespace

TEST_CASE("sample: steps in one command buffer, and each over several frames", "[vulkan][state]") {
  const auto host = HostVulkan::create({});
  if (host == nullptr) return;
  const Tensors tensors = writer_weights();
  Writer writer(host->adopt(), tensors);
  writer.start(7);
  std::vector<ExtentValue> extents;
  for (uint32_t i = 0; i < kSteps; ++i) extents.push_back({"at", i});
  const auto info = [&](uint32_t i) {
    return vulkan::RecordInfo{
        .extents = std::span(extents).subspan(i, 1), .seed = 21, .slot = i, .state = writer.state};
  };
  VkCommandBuffer commands = host->begin();
  for (uint32_t i = 0; i < kSteps; ++i) REQUIRE(vulkan::record(writer.plan, commands, info(i)) == Status::Ok);
  host->end(commands);
  host->submit_and_wait(commands);
  const std::vector<int32_t> at_once = writer.text();

  writer.start(7);
  for (uint32_t i = 0; i < kSteps; ++i) {
    vulkan::Cursor cursor;
    while (!cursor.done()) {
      commands = host->begin();
      REQUIRE(vulkan::record_some(writer.plan, commands, info(i), 0.0, &cursor) == Status::Ok);
      host->end(commands);
      host->submit_and_wait(commands);
    }
  }
  CHECK(writer.text() == at_once);

  writer.start(7);
  for (uint32_t i = 0; i < kSteps; ++i)
    REQUIRE(writer.plan.run({}, {extents[i]}, {.seed = 21, .state = writer.state}) == Status::Ok);
  CHECK(writer.text() == at_once);

  // The CPU's logits differ in their last bits, which rarely changes a token.
  Writer on_cpu(open_cpu(), tensors);
  on_cpu.start(7);
  for (uint32_t i = 0; i < kSteps; ++i)
    REQUIRE(on_cpu.plan.run({}, {extents[i]}, {.seed = 21, .state = on_cpu.state}) == Status::Ok);
  CHECK(on_cpu.text() == at_once);
  CHECK(at_once[kSteps] != 0);
  CHECK(at_once[kSteps + 1] == 0);
}

}  // namespace heed::test

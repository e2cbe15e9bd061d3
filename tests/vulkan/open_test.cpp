// Devices that heed finds and opens by itself.
#include "vulkan/host_plan.hpp"

using namespace heed;
using namespace heed::test;

TEST_CASE("open: no Vulkan loader leaves the CPU", "[vulkan][open]") {
  constexpr std::string_view kNone = "/nonexistent/libvulkan.so.1";
  Messages messages;
  std::vector<DeviceInfo> devices;
  REQUIRE(Device::list({.log = messages.log(), .vulkan_loader = kNone}, &devices) == Status::Ok);
  REQUIRE(devices.size() == 1);
  CHECK(devices[0].kind == DeviceKind::Cpu);
  Device device = open_device({.log = messages.log(), .vulkan_loader = kNone});
  CHECK(device.info().kind == DeviceKind::Cpu);
  CHECK(messages.text == "");
  CHECK(Device::open({.select = "vulkan", .log = messages.log(), .vulkan_loader = kNone}, &device) == Status::NotFound);
  CHECK_THAT(messages.text, holds("vulkan"));
}

TEST_CASE("open: words are single and unique, and say what is used and why", "[vulkan][open]") {
  std::vector<DeviceInfo> devices;
  REQUIRE(Device::list({}, &devices) == Status::Ok);
  for (size_t i = 0; i < devices.size(); ++i) {
    CHECK(devices[i].word.find_first_of(" \t\n") == std::string::npos);
    for (size_t j = 0; j < i; ++j) CHECK(devices[j].word != devices[i].word);
    CHECK_FALSE(devices[i].reason.empty());
    if (devices[i].kind == DeviceKind::Cpu) continue;
    CHECK(devices[i].word.starts_with("vulkan:"));
    CHECK(devices[i].api.starts_with("Vulkan 1."));
    CHECK_FALSE(devices[i].driver.empty());
    CHECK_FALSE(devices[i].limits.empty());
  }
}

TEST_CASE("open: with validation, run agrees with the CPU and the layer is silent", "[vulkan][open]") {
  const std::string word = first_gpu();
  if (word.empty()) return;
  Messages messages;
  {
    Device gpu = open_device({.select = word, .log = messages.log(LogLevel::Info), .validation = true});
    CHECK_THAT(messages.text, holds("with synchronization validation"));
    messages.take();
    Device cpu = open_cpu();
    const Tensors tensors = block_weights();
    Weights gpu_weights = uploaded(gpu, tensors.list());
    Weights cpu_weights = uploaded(cpu, tensors.list());
    const Graph graph = block_graph();
    Plan gpu_plan = compiled(gpu, graph, gpu_weights);
    Plan cpu_plan = compiled(cpu, graph, cpu_weights);
    for (int64_t tokens : {1, 5, 36, 37}) {
      const Sample sample = make_sample(cpu_plan, 1 + tokens % 3, tokens, static_cast<uint32_t>(tokens));
      std::vector<float> y, again;
      CHECK(run_differs(gpu_plan, sample, &y) == "");
      CHECK(run_differs(gpu_plan, sample, &again) == "");
      CHECK(y == again);  // same device, plan and inputs: same bits
    }
    CHECK(gpu.compile(graph, cpu_weights, &gpu_plan) == Status::InvalidArgument);
    CHECK_THAT(messages.text, holds("another device"));
    messages.take();
    // Plans keep their weights and device alive.
    gpu = {};
    gpu_weights = {};
    CHECK(run_differs(gpu_plan, make_sample(cpu_plan, 1, 3, 8)) == "");
  }
  CHECK(messages.text == "");
}

TEST_CASE("open: the driver's memory budget, where it tells", "[vulkan][open][memory]") {
  const std::string word = first_gpu();
  if (word.empty()) return;
  Messages messages;
  {
    Device gpu = open_device({.select = word, .log = messages.log(), .validation = true});
    std::vector<vulkan::HeapBudget> heaps;
    const Status status = vulkan::memory_budget(gpu, &heaps);
    if (status == Status::Ok) {
      REQUIRE_FALSE(heaps.empty());
      for (const vulkan::HeapBudget& heap : heaps) CHECK(heap.bytes > 0);
      CHECK(heaps[0].budget > 0);
    } else {
      CHECK(status == Status::Unsupported);
      CHECK_THAT(messages.text, holds("the driver has no VK_EXT_memory_budget"));
      messages.take();
    }
  }
  CHECK(messages.text == "");
}

TEST_CASE("open: a pipeline cache comes back; a damaged or foreign one is ignored with a warning",
          "[vulkan][open][cache]") {
  const std::string word = first_gpu();
  if (word.empty()) return;
  std::vector<std::byte> blob;
  const auto open_with = [&](std::span<const std::byte> given) {
    Messages messages;
    Device device = open_device({.select = word, .log = messages.log(), .pipeline_cache = given, .validation = true});
    (void)compiled(device, block_graph(), uploaded(device, block_weights().list()));
    std::vector<std::byte> after;
    REQUIRE(device.pipeline_cache(&after) == Status::Ok);
    if (blob.empty()) blob = after;
    return messages.text;
  };
  CHECK(open_with({}) == "");
  if (blob.empty()) {
    WARN("this driver keeps no pipeline cache");
    CHECK(word == "vulkan:llvmpipe");
    return;
  }
  CHECK(blob.size() > 24);
  CHECK(open_with(blob) == "");
  std::vector<std::byte> damaged = blob;
  damaged[damaged.size() / 2] ^= std::byte{0x55};
  CHECK_THAT(open_with(damaged), holds("pipeline cache is ignored: it is damaged"));
  CHECK_THAT(open_with(std::span(blob).first(blob.size() - 1)), holds("it is damaged"));
  const std::vector<std::byte> foreign(64, std::byte{7});
  CHECK_THAT(open_with(foreign), holds("it is not a heed pipeline cache"));
}

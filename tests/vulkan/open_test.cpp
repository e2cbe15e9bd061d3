// Devices that heed finds and opens by itself.
#include <algorithm>
#include <cstdlib>
#include <optional>

#include "catch.hpp"
#include "vulkan/host_plan.hpp"

using namespace heed;
using namespace heed::test;

namespace {

// Sets an environment variable for as long as it lives.
class Variable {
 public:
  Variable(const char* name, const char* value) : name_(name) {
    if (const char* old = std::getenv(name)) old_ = old;
    setenv(name, value, 1);
  }
  ~Variable() {
    if (old_)
      setenv(name_, old_->c_str(), 1);
    else
      unsetenv(name_);
  }

 private:
  const char* name_;
  std::optional<std::string> old_;
};

struct Messages {
  std::string text;
  Log log(LogLevel minimum = LogLevel::Warning) {
    return {[](void* user, LogLevel, const char* message) {
              *static_cast<std::string*>(user) += std::string(message) + "\n";
            },
            &text, minimum};
  }
};

// The word of the first usable Vulkan device, or empty with a WARN.
std::string first_gpu() {
  std::vector<DeviceInfo> devices;
  REQUIRE(Device::list({}, &devices) == Status::Ok);
  for (const DeviceInfo& device : devices)
    if (device.kind != DeviceKind::Cpu && device.usable) return device.word;
  WARN("no Vulkan device here: what this test is about was not tested");
  return "";
}

}  // namespace

TEST_CASE("open: no Vulkan loader leaves the CPU", "[vulkan][open]") {
  const Variable hidden("HEED_VULKAN_LOADER", "/nonexistent/libvulkan.so.1");
  Messages messages;
  std::vector<DeviceInfo> devices;
  REQUIRE(Device::list({.log = messages.log()}, &devices) == Status::Ok);
  REQUIRE(devices.size() == 1);
  CHECK(devices[0].kind == DeviceKind::Cpu);
  Device device;
  REQUIRE(Device::open({.log = messages.log()}, &device) == Status::Ok);
  CHECK(device.info().kind == DeviceKind::Cpu);
  CHECK(messages.text == "");
  CHECK(Device::open({.select = "vulkan", .log = messages.log()}, &device) == Status::NotFound);
  CHECK(messages.text.find("vulkan") != std::string::npos);
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
    Device gpu, cpu;
    REQUIRE(Device::open({.select = word, .log = messages.log(LogLevel::Info), .validation = true}, &gpu) ==
            Status::Ok);
    CHECK(messages.text.find("with synchronization validation") != std::string::npos);
    messages.text.clear();
    REQUIRE(Device::open({.select = "cpu"}, &cpu) == Status::Ok);
    const Tensors tensors = block_weights();
    Weights gpu_weights, cpu_weights;
    REQUIRE(gpu.upload(tensors.list(), &gpu_weights) == Status::Ok);
    REQUIRE(cpu.upload(tensors.list(), &cpu_weights) == Status::Ok);
    const Graph graph = block_graph();
    Plan gpu_plan, cpu_plan;
    REQUIRE(gpu.compile(graph, gpu_weights, &gpu_plan) == Status::Ok);
    REQUIRE(cpu.compile(graph, cpu_weights, &cpu_plan) == Status::Ok);
    for (int64_t tokens : {1, 5, 36, 37}) {
      const Sample sample = make_sample(cpu_plan, 1 + tokens % 3, tokens, static_cast<uint32_t>(tokens));
      std::vector<float> y(sample.y.size()), again(y.size());
      for (std::vector<float>* result : {&y, &again})
        REQUIRE(gpu_plan.run({{"x", sample.x}, {"padding", sample.padding}, {"y", *result}},
                             {{"batch", sample.batch}, {"tokens", tokens}}) == Status::Ok);
      CHECK(difference(y.data(), sample.y) == "");
      CHECK(y == again);  // same device, plan and inputs: same bits
    }
    CHECK(gpu.compile(graph, cpu_weights, &gpu_plan) == Status::InvalidArgument);
    CHECK(messages.text.find("another device") != std::string::npos);
    messages.text.clear();
    // Plans keep their weights and device alive.
    gpu = {};
    gpu_weights = {};
    const Sample sample = make_sample(cpu_plan, 1, 3, 8);
    std::vector<float> y(sample.y.size());
    REQUIRE(gpu_plan.run({{"x", sample.x}, {"padding", sample.padding}, {"y", y}}, {{"batch", 1}, {"tokens", 3}}) ==
            Status::Ok);
    CHECK(difference(y.data(), sample.y) == "");
  }
  CHECK(messages.text == "");
}

TEST_CASE("open: the driver's memory budget, where it tells", "[vulkan][open][memory]") {
  const std::string word = first_gpu();
  if (word.empty()) return;
  Messages messages;
  {
    Device gpu;
    REQUIRE(Device::open({.select = word, .log = messages.log(), .validation = true}, &gpu) == Status::Ok);
    std::vector<vulkan::HeapBudget> heaps;
    const Status status = vulkan::memory_budget(gpu, &heaps);
    if (status == Status::Ok) {
      REQUIRE_FALSE(heaps.empty());
      for (const vulkan::HeapBudget& heap : heaps) CHECK(heap.bytes > 0);
      CHECK(heaps[0].budget > 0);
    } else {
      CHECK(status == Status::Unsupported);
      CHECK(messages.text.find("VK_EXT_memory_budget is not enabled") != std::string::npos);
      messages.text.clear();
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
    Device device;
    Plan plan;
    REQUIRE(Device::open({.select = word, .log = messages.log(), .pipeline_cache = given, .validation = true},
                         &device) == Status::Ok);
    Weights weights;
    REQUIRE(device.upload(block_weights().list(), &weights) == Status::Ok);
    REQUIRE(device.compile(block_graph(), weights, &plan) == Status::Ok);
    std::vector<std::byte> after;
    REQUIRE(device.pipeline_cache(&after) == Status::Ok);
    CHECK(after.size() > 24);
    if (blob.empty()) blob = after;
    return messages.text;
  };
  CHECK(open_with({}) == "");
  CHECK(open_with(blob) == "");
  std::vector<std::byte> damaged = blob;
  damaged[damaged.size() / 2] ^= std::byte{0x55};
  CHECK(open_with(damaged).find("pipeline cache is ignored: it is damaged") != std::string::npos);
  CHECK(open_with(std::span(blob).first(blob.size() - 1)).find("it is damaged") != std::string::npos);
  const std::vector<std::byte> foreign(64, std::byte{7});
  CHECK(open_with(foreign).find("it is not a heed pipeline cache") != std::string::npos);
}

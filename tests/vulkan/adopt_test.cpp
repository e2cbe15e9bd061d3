// What heed takes of a host's device: what the host says it enabled, and nothing else.
#include <cstring>

#include "catch.hpp"
#include "vulkan/host_plan.hpp"
#include "vulkan/host_vulkan.hpp"

using namespace heed;
using namespace heed::test;

namespace {

Graph scale_graph(DType dtype) {
  Graph g;
  g.output("y", g.scale(g.input("x", {64}, dtype), 2.0f));
  return g;
}

}  // namespace

TEST_CASE("adopt: f16 only where the host enabled 16-bit storage", "[vulkan][adopt]") {
  for (const bool in_1_1 : {false, true}) {
    const auto without = HostVulkan::create({.f16 = false, .f16_in_1_1 = in_1_1});
    if (without == nullptr) return;
    Device device;
    Plan plan;
    REQUIRE(vulkan::adopt(without->host_device(), &device) == Status::Ok);
    CHECK(device.info().usable);
    CHECK(device.compile(scale_graph(DType::F16), {}, &plan) == Status::Unsupported);
    CHECK(without->take_log().find("f16") != std::string::npos);
    CHECK_FALSE(plan.valid());
    CHECK(device.compile(scale_graph(DType::F32), {}, &plan) == Status::Ok);
    CHECK(without->take_validation() == "");
    plan = {};
    device = {};

    const auto with = HostVulkan::create({.f16 = true, .f16_in_1_1 = in_1_1});
    REQUIRE(with != nullptr);
    if (!with->has_f16()) continue;
    REQUIRE(vulkan::adopt(with->host_device(), &device) == Status::Ok);
    REQUIRE(device.compile(scale_graph(DType::F16), {}, &plan) == Status::Ok);
    std::vector<uint16_t> x(64, 0x3c00), y(64);  // 1.0
    CHECK(plan.run({{"x", x}, {"y", y}}) == Status::Ok);
    CHECK(y == std::vector<uint16_t>(64, 0x4000));  // 2.0
    plan = {};
    device = {};  // before the host's device
    CHECK(with->take_validation() == "");
  }
}

TEST_CASE("adopt: without a queue heed records, and refuses to submit", "[vulkan][adopt]") {
  const auto host = HostVulkan::create({.queue = false});
  if (host == nullptr) return;
  {
    Device device;
    Plan plan;
    Weights weights;
    REQUIRE(vulkan::adopt(host->host_device(), &device) == Status::Ok);
    REQUIRE(device.compile(scale_graph(DType::F32), {}, &plan) == Status::Ok);
    std::vector<float> x(64, 1.0f), y(64);
    CHECK(plan.run({{"x", x}, {"y", y}}) == Status::Unsupported);
    CHECK(host->take_log().find("queue") != std::string::npos);
    CHECK(device.upload(block_weights().list(), &weights) == Status::Unsupported);
    CHECK_FALSE(weights.valid());
    CHECK(device.upload({}, &weights) == Status::Ok);
    CHECK(weights.bytes() == 0);

    const HostVulkan::Memory memory = host->allocate(1024);
    std::memcpy(memory.mapped, x.data(), 256);
    const vulkan::Buffer buffers[] = {{"x", memory.buffer, 0, 256}, {"y", memory.buffer, 512, 256}};
    const VkCommandBuffer commands = host->begin();
    REQUIRE(vulkan::record(plan, commands, {.buffers = buffers}) == Status::Ok);
    host->end(commands);
    host->submit_and_wait(commands);
    CHECK(difference(reinterpret_cast<const float*>(memory.mapped + 512), std::vector<float>(64, 2.0f)) == "");
    host->free(memory);
  }
  CHECK(host->take_validation() == "");
}

TEST_CASE("adopt: mistakes of the host are named", "[vulkan][adopt]") {
  const auto host = HostVulkan::create({});
  if (host == nullptr) return;
  const vulkan::HostDevice good = host->host_device();
  Device device;
  const auto refuses = [&](vulkan::HostDevice bad, Status status, const char* part) {
    CHECK(vulkan::adopt(bad, &device) == status);
    const std::string text = host->take_log();
    INFO(text);
    CHECK(text.find(part) != std::string::npos);
    CHECK_FALSE(device.valid());
  };
  vulkan::HostDevice bad = good;
  bad.device = VK_NULL_HANDLE;
  refuses(bad, Status::InvalidArgument, "device is null");
  bad = good;
  bad.instance = VK_NULL_HANDLE;
  refuses(bad, Status::InvalidArgument, "instance is null");
  bad = good;
  bad.physical_device = VK_NULL_HANDLE;
  refuses(bad, Status::InvalidArgument, "physical_device is null");
  bad = good;
  bad.get_instance_proc_addr = nullptr;
  refuses(bad, Status::InvalidArgument, "get_instance_proc_addr is null");
  bad = good;
  bad.api_version = VK_API_VERSION_1_0;
  refuses(bad, Status::Unsupported, "1.0");
  bad = good;
  bad.queue_family = 99;
  refuses(bad, Status::InvalidArgument, "queue family 99");
  pretend({.transfer_family = true});
  bad = good;
  bad.queue_family = host->last_family() + 1;
  refuses(bad, Status::InvalidArgument, "has no compute");
  pretend({});
  bad = good;
  const char* const extensions[] = {"VK_KHR_swapchain", nullptr};
  bad.enabled_extensions = extensions;
  refuses(bad, Status::InvalidArgument, "enabled_extensions[1] is null");
  bad = good;
  const VkPhysicalDeviceFeatures2 features = {};
  bad.enabled_features = &features;
  refuses(bad, Status::InvalidArgument, "enabled_features has a wrong sType");
  bad = good;
  bad.get_instance_proc_addr = [](VkInstance, const char*) -> PFN_vkVoidFunction { return nullptr; };
  refuses(bad, Status::InvalidArgument, "knows no vk");
  CHECK(vulkan::adopt(good, nullptr) == Status::InvalidArgument);
  CHECK(vulkan::adopt(good, &device) == Status::Ok);
  device = {};
  CHECK(host->host_blocks() == 0);
  CHECK(host->take_validation() == "");
}

TEST_CASE("adopt: a memory model needs its device scope", "[vulkan][adopt]") {
  const auto host = HostVulkan::create({});
  if (host == nullptr) return;
  auto core =
      vulkan::structure<VkPhysicalDeviceVulkan12Features>(VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_2_FEATURES);
  auto alone = vulkan::structure<VkPhysicalDeviceVulkanMemoryModelFeatures>(
      VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_MEMORY_MODEL_FEATURES);
  for (const bool in_core : {true, false}) {
    for (const bool scope : {true, false}) {
      core.vulkanMemoryModel = alone.vulkanMemoryModel = VK_TRUE;
      core.vulkanMemoryModelDeviceScope = alone.vulkanMemoryModelDeviceScope = scope;
      VkPhysicalDeviceFeatures2 features = {VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FEATURES_2, nullptr, {}};
      features.pNext = in_core ? static_cast<void*>(&core) : &alone;
      vulkan::HostDevice given = host->host_device();
      given.enabled_features = &features;
      Device device;
      CHECK(vulkan::adopt(given, &device) == (scope ? Status::Ok : Status::Unsupported));
      CHECK((host->take_log().find("vulkanMemoryModelDeviceScope") != std::string::npos) == !scope);
    }
  }
}

TEST_CASE("adopt: large uploads pass through bounded staging", "[vulkan][upload]") {
  const auto host = HostVulkan::create({.f16 = true});
  if (host == nullptr) return;
  {
    Device device;
    REQUIRE(vulkan::adopt(host->host_device(), &device) == Status::Ok);
    // 24 MiB as f32, more than one piece; an odd count, so that pieces end in the middle of a row; U8 of an
    // odd size in between, so that what follows starts at a rounded place.
    const int64_t kCount = 6 * 1024 * 1024 + 3;
    const std::vector<float> big = pattern(static_cast<size_t>(kCount), 9);
    const std::vector<uint8_t> bytes = {1, 2, 3, 4, 5, 6, 7};
    const std::vector<float> small = {0.5f, -0.25f, 4.0f};
    const int64_t big_shape[] = {kCount}, bytes_shape[] = {7}, small_shape[] = {3};
    const HostTensor tensors[] = {{"big", DType::F32, big_shape, std::as_bytes(std::span(big))},
                                  {"bytes", DType::U8, bytes_shape, std::as_bytes(std::span(bytes))},
                                  {"small", DType::F32, small_shape, std::as_bytes(std::span(small))}};
    Weights weights;
    reset_calls();
    REQUIRE(device.upload(tensors, &weights) == Status::Ok);
    CHECK(calls("QueueSubmit") == 2);
    CHECK(calls("AllocateMemory") == 2);  // the weights and the staging buffer
    CHECK(weights.bytes() == device.upload_bytes(tensors));
    Graph g;
    g.output("big_out", g.scale(g.weight("big", {kCount}), 1.0f));
    g.output("small_out", g.scale(g.weight("small", {3}), 1.0f));
    Plan plan;
    REQUIRE(device.compile(g, weights, &plan) == Status::Ok);
    std::vector<float> big_out(big.size()), small_out(3);
    REQUIRE(plan.run({{"big_out", big_out}, {"small_out", small_out}}) == Status::Ok);
    CHECK(big_out == big);
    CHECK(small_out == small);
    CHECK(plan.weight_bytes() == big.size() * 4 + 12);

    if (host->has_f16()) {
      REQUIRE(device.upload(tensors, &weights, {.keep_dtype = false, .dtype = DType::F16}) == Status::Ok);
      Graph half;
      half.output("big_out", half.cast(half.weight("big", {kCount}, DType::F16), DType::F32));
      REQUIRE(device.compile(half, weights, &plan) == Status::Ok);
      REQUIRE(plan.run({{"big_out", big_out}}) == Status::Ok);
      size_t wrong = 0;
      for (size_t i = 0; i < big.size(); ++i)
        wrong += std::abs(big_out[i] - big[i]) > 0x1p-11f * std::abs(big[i]) + 0x1p-24f;
      CHECK(wrong == 0);
    }
  }
  CHECK(host->host_blocks() == 0);
  CHECK(host->take_validation() == "");
}

TEST_CASE("adopt: nothing is used that the host did not list", "[vulkan][adopt]") {
  // Vulkan 1.1, no feature, no extension: the validation layer and the loader refuse all else.
  for (const bool labels : {false, true}) {
    reset_calls();
    const auto host = HostVulkan::create({.vulkan_1_1 = true});
    if (host == nullptr) return;
    vulkan::HostDevice given = host->host_device();
    CHECK(given.api_version == VK_API_VERSION_1_1);
    given.enabled_features = nullptr;
    given.debug_utils = labels;
    {
      Block block;
      make_block(given, {.timestamps = host->has_timestamps()}, &block);
      const Sample sample = make_sample(block.cpu_plan, 2, 31, 1);
      std::vector<float> y(sample.y.size());
      REQUIRE(block.plan.run({{"x", sample.x}, {"padding", sample.padding}, {"y", y}},
                             {{"batch", 2}, {"tokens", 31}}) == Status::Ok);
      CHECK(difference(y.data(), sample.y) == "");
      Plan half;
      CHECK(block.device.compile(scale_graph(DType::F16), {}, &half) == Status::Unsupported);
    }
    CHECK((calls("SetDebugUtilsObjectNameEXT") > 0) == labels);
    CHECK((calls("CmdBeginDebugUtilsLabelEXT") > 0) == labels);
    CHECK(extension_functions_asked().empty() == !labels);
    CHECK(extension_functions_asked().find("KHR") == std::string::npos);
    CHECK(budget_queries() == 0);
    CHECK(live_objects() == "");
    CHECK(host->take_validation() == "");
  }
}

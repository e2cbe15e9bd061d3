// heed uses the features of a host's device that the host lists as enabled, and no others.

#include "harness/environment.hpp"
#include "vulkan/host_plan.hpp"

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
    Plan plan;
    Device device = adopted(without->host_device());
    CHECK(device.info().usable);
    CHECK(device.compile(scale_graph(DType::F16), {}, &plan) == Status::Unsupported);
    CHECK_THAT(without->take_log(),
               holds("the host lists none (storageBuffer16BitAccess in HostDevice::enabled_features"));
    CHECK_THAT(device.info().reason,
               holds(without->has_f16() ? "the host lists no storageBuffer16BitAccess in HostDevice::enabled_features"
                                        : "the driver has no storageBuffer16BitAccess"));
    CHECK_FALSE(plan.valid());
    CHECK(device.compile(scale_graph(DType::F32), {}, &plan) == Status::Ok);
    CHECK(without->take_validation() == "");
    plan = {};
    device = {};

    const auto with = HostVulkan::create({.f16 = true, .f16_in_1_1 = in_1_1});
    REQUIRE(with != nullptr);
    if (!with->has_f16()) continue;
    device = adopted(with->host_device());
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
  Weights weights;
  Device device = host->adopt();
  Plan plan = compiled(device, scale_graph(DType::F32));
  std::vector<float> x(64, 1.0f), y(64);
  host->refused(plan.run({{"x", x}, {"y", y}}), Status::Unsupported,
                "run: the host gave no queue with its device (HostDevice::queue)");
  host->refused(device.upload(block_weights().list(), &weights), Status::Unsupported,
                "recording is possible, and vulkan::upload to memory that the host has mapped");
  CHECK_FALSE(weights.valid());
  CHECK(device.upload({}, &weights) == Status::Ok);
  CHECK(weights.bytes() == 0);

  const HostVulkan::Memory memory = host->allocate(1024);
  std::memcpy(memory.mapped, x.data(), 256);
  const vulkan::Buffer buffers[] = {{"x", memory.buffer, 0, 256}, {"y", memory.buffer, 512, 256}};
  host->record_and_wait(plan, {.buffers = buffers});
  CHECK(difference(reinterpret_cast<const float*>(memory.mapped + 512), std::vector<float>(64, 2.0f)) == "");
}

TEST_CASE("adopt: three handles and the queue family are enough", "[vulkan][adopt]") {
  const auto host = HostVulkan::create({});
  if (host == nullptr) return;
  const vulkan::HostDevice all = host->host_device();
  const vulkan::HostDevice few = {.instance = all.instance,
                                  .physical_device = all.physical_device,
                                  .device = all.device,
                                  .queue_family = all.queue_family,
                                  .log = all.log};
  {
    Device device = adopted(few);
    CHECK(device.info().usable);
    CHECK_THAT(device.info().reason, !holds("not enable"));
    const float ones[] = {1, 2, 3, 4};
    Graph g;  // uses a constant and scratch, so that heed allocates
    g.output("y", g.softmax(g.scale(g.add(g.input("x", {16, 4}), g.constant("ones", {4}, ones)), 2.0f)));
    Plan plan = compiled(device, g), cpu_plan = compiled(open_cpu(), g);
    const std::vector<float> x = pattern(64, 3);
    std::vector<float> y(64);
    REQUIRE(cpu_plan.run({{"x", x}, {"y", y}}) == Status::Ok);
    const HostVulkan::Memory memory = host->allocate(1024);
    std::memcpy(memory.mapped, x.data(), 256);
    const vulkan::Buffer buffers[] = {{"x", memory.buffer, 0, 256}, {"y", memory.buffer, 512, 256}};
    host->record_and_wait(plan, {.buffers = buffers});
    CHECK(difference(reinterpret_cast<const float*>(memory.mapped + 512), y) == "");
  }
  Device none;
  const SetVariable no_loader("HEED_VULKAN_LOADER", "/nonexistent/libvulkan.so.1");
  host->refused(vulkan::adopt(few, &none), Status::InvalidArgument,
                "get_instance_proc_addr is null, and heed can open no Vulkan loader");
  const SetVariable no_vulkan("HEED_VULKAN_LOADER", "libc.so.6");
  host->refused(vulkan::adopt(few, &none), Status::InvalidArgument, "can open no Vulkan loader");
  CHECK_FALSE(none.valid());
  CHECK(vulkan::adopt(all, &none) == Status::Ok);  // a host with its own function needs no loader
}

TEST_CASE("adopt: mistakes of the host are named", "[vulkan][adopt]") {
  const auto host = HostVulkan::create({});
  if (host == nullptr) return;
  const vulkan::HostDevice good = host->host_device();
  Device device;
  const auto refuses = [&](const auto& spoil, Status status, const char* part) {
    vulkan::HostDevice bad = good;
    spoil(bad);
    CHECK(vulkan::adopt(bad, &device) == status);
    CHECK_THAT(host->take_log(), holds(part));
    CHECK_FALSE(device.valid());
  };
  using Bad = vulkan::HostDevice;
  const char* const extensions[] = {"VK_KHR_swapchain", nullptr};
  const VkPhysicalDeviceFeatures2 features = {};
  constexpr auto knows_nothing = [](VkInstance, const char*) -> PFN_vkVoidFunction { return nullptr; };
  refuses([](Bad& bad) { bad.device = VK_NULL_HANDLE; }, Status::InvalidArgument, "device is null");
  refuses([](Bad& bad) { bad.instance = VK_NULL_HANDLE; }, Status::InvalidArgument, "instance is null");
  refuses([](Bad& bad) { bad.physical_device = VK_NULL_HANDLE; }, Status::InvalidArgument, "physical_device is null");
  refuses([](Bad& bad) { bad.api_version = VK_API_VERSION_1_0; }, Status::Unsupported,
          "HostDevice::api_version is 1.0; 1.1 is needed");
  refuses([](Bad& bad) { bad.queue_family = 99; }, Status::InvalidArgument, "queue family 99");
  pretend({.transfer_family = true});
  refuses([&](Bad& bad) { bad.queue_family = host->last_family() + 1; }, Status::InvalidArgument, "has no compute");
  pretend({});
  refuses([&](Bad& bad) { bad.enabled_extensions = extensions; }, Status::InvalidArgument,
          "enabled_extensions[1] is null");
  refuses([&](Bad& bad) { bad.enabled_features = &features; }, Status::InvalidArgument,
          "enabled_features has a wrong sType");
  refuses([&](Bad& bad) { bad.get_instance_proc_addr = knows_nothing; }, Status::InvalidArgument, "knows no vk");
  CHECK(vulkan::adopt(good, nullptr) == Status::InvalidArgument);
  CHECK(vulkan::adopt(good, &device) == Status::Ok);
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
  Device device = host->adopt();
  // The f32 weight has 24 MiB, more than one upload. Its element count is odd, so that an upload ends in the middle of a row. A U8 weight
  // of odd size precedes another weight, which then starts at a rounded offset.
  const int64_t kCount = 6 * 1024 * 1024 + 3;
  const std::vector<float> big = pattern(static_cast<size_t>(kCount), 9);
  const std::vector<uint8_t> bytes = {1, 2, 3, 4, 5, 6, 7};
  const std::vector<float> small = {0.5f, -0.25f, 4.0f};
  const int64_t big_shape[] = {kCount}, bytes_shape[] = {7}, small_shape[] = {3};
  const HostTensor tensors[] = {{"big", DType::F32, big_shape, std::as_bytes(std::span(big))},
                                {"bytes", DType::U8, bytes_shape, std::as_bytes(std::span(bytes))},
                                {"small", DType::F32, small_shape, std::as_bytes(std::span(small))}};
  reset_calls();
  Weights weights = uploaded(device, tensors);
  CHECK(calls("QueueSubmit") == 2);
  CHECK(calls("AllocateMemory") == 2);  // the weights and the staging buffer
  CHECK(weights.bytes() == device.upload_bytes(tensors));
  Graph g;
  g.output("big_out", g.scale(g.weight("big", {kCount}), 1.0f));
  g.output("small_out", g.scale(g.weight("small", {3}), 1.0f));
  (void)g.weight("bytes", {7}, DType::U8);
  Plan plan = compiled(device, g, weights);
  std::vector<float> big_out(big.size()), small_out(3);
  REQUIRE(plan.run({{"big_out", big_out}, {"small_out", small_out}}) == Status::Ok);
  CHECK(big_out == big);
  CHECK(small_out == small);
  CHECK(plan.weight_bytes() == big.size() * 4 + 12);

  if (host->has_f16()) {
    REQUIRE(device.upload(tensors, &weights, {.keep_dtype = false, .dtype = DType::F16}) == Status::Ok);
    Graph half;
    half.output("big_out", half.cast(half.weight("big", {kCount}, DType::F16), DType::F32));
    (void)half.weight("bytes", {7}, DType::U8), (void)half.weight("small", {3}, DType::F16);
    REQUIRE(device.compile(half, weights, &plan) == Status::Ok);
    REQUIRE(plan.run({{"big_out", big_out}}) == Status::Ok);
    size_t wrong = 0;
    for (size_t i = 0; i < big.size(); ++i)
      wrong += std::abs(big_out[i] - big[i]) > 0x1p-11f * std::abs(big[i]) + 0x1p-24f;
    CHECK(wrong == 0);
  }
}

TEST_CASE("adopt: nothing is used that the host did not list", "[vulkan][adopt]") {
  // Vulkan 1.1 without features and extensions: the validation layer and the loader reject anything else.
  for (const bool labels : {false, true}) {
    reset_calls();
    const auto host = HostVulkan::create({.vulkan_1_1 = true});
    if (host == nullptr) return;
    vulkan::HostDevice given = host->host_device();
    CHECK(given.api_version == VK_API_VERSION_1_1);
    given.enabled_features = nullptr;
    given.debug_utils = labels;
    {
      Block block = make_block(given, {.timestamps = host->has_timestamps()});
      CHECK(run_differs(block.plan, make_sample(block.cpu_plan, 2, 31, 1)) == "");
      Plan half;
      host->refused(block.device.compile(scale_graph(DType::F16), {}, &half), Status::Unsupported, "f16");
    }
    CHECK((calls("SetDebugUtilsObjectNameEXT") > 0) == labels);
    CHECK((calls("CmdBeginDebugUtilsLabelEXT") > 0) == labels);
    CHECK(extension_functions_asked().empty() == !labels);
    CHECK_THAT(extension_functions_asked(), !holds("KHR"));
    CHECK(budget_queries() == 0);
    CHECK(live_objects() == "");
    CHECK(host->take_validation() == "");
  }
}

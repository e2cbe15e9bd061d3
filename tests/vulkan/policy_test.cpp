// Decisions of the Vulkan layer that need no device: splitting dispatches, memory types, names, the pipeline cache's blob.

#include "harness/catch.hpp"
#include "vulkan/calls/names.hpp"
#include "vulkan/memory/memory_types.hpp"
#include "vulkan/pipelines/cache_blob.hpp"
#include "vulkan/probe/capabilities.hpp"
#include "vulkan/recording/split.hpp"

using namespace heed::vulkan;

TEST_CASE("split: pieces cover every group once", "[vulkan][split]") {
  struct Row {
    std::array<uint32_t, 3> groups;
    double work;
    uint32_t at_least;
  };
  const Row rows[] = {{{7, 5, 3}, 1.0, 1},    {{7, 5, 3}, 1e9, 1},      {{7, 5, 3}, 2.5e9, 3},
                      {{1, 1, 1}, 1e12, 1},   {{64, 64, 1}, 1e11, 100}, {{65535, 1, 1}, 5e9, 5},
                      {{3, 2, 12}, 3e10, 30}, {{16, 1, 2}, 1e20, 32}};
  for (const Row& row : rows) {
    const Split split = split_dispatch(row.groups, row.work, 1e9);
    INFO(row.groups[0] << " " << row.groups[1] << " " << row.groups[2] << " work " << row.work);
    CHECK(split.count() >= row.at_least);
    CHECK(split.count() <= 2 * 4096);
    for (size_t axis = 0; axis < 3; ++axis) {
      uint32_t next = 0;
      for (uint32_t i = 0; i < split.pieces[axis]; ++i) {
        const GroupRange range = piece_of(row.groups[axis], split.pieces[axis], i);
        CHECK(range.begin == next);
        CHECK(range.end > range.begin);
        next = range.end;
      }
      CHECK(next == row.groups[axis]);
    }
  }
}

TEST_CASE("split: z is cut before y, y before x", "[vulkan][split]") {
  CHECK(split_dispatch({8, 8, 8}, 4e9, 1e9).pieces == std::array<uint32_t, 3>{1, 1, 5});
  CHECK(split_dispatch({8, 8, 2}, 5.5e9, 1e9).pieces == std::array<uint32_t, 3>{1, 3, 2});
  CHECK(split_dispatch({8, 1, 2}, 5.5e9, 1e9).pieces == std::array<uint32_t, 3>{3, 1, 2});
}

namespace {

constexpr VkMemoryPropertyFlags kLocal = VK_MEMORY_PROPERTY_DEVICE_LOCAL_BIT,
                                kVisible = VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT,
                                kCoherent = VK_MEMORY_PROPERTY_HOST_COHERENT_BIT,
                                kCached = VK_MEMORY_PROPERTY_HOST_CACHED_BIT;

// A discrete card with a 256 MiB window: video memory, host memory, the window.
VkPhysicalDeviceMemoryProperties discrete() {
  VkPhysicalDeviceMemoryProperties memory = {};
  memory.memoryHeapCount = 3;
  memory.memoryHeaps[0] = {8ull << 30, VK_MEMORY_HEAP_DEVICE_LOCAL_BIT};
  memory.memoryHeaps[1] = {16ull << 30, 0};
  memory.memoryHeaps[2] = {256ull << 20, VK_MEMORY_HEAP_DEVICE_LOCAL_BIT};
  memory.memoryTypeCount = 6;
  memory.memoryTypes[0] = {VK_MEMORY_PROPERTY_DEVICE_COHERENT_BIT_AMD | kLocal, 0};
  memory.memoryTypes[1] = {kLocal | kVisible | kCoherent, 2};
  memory.memoryTypes[2] = {kLocal, 0};
  memory.memoryTypes[3] = {kVisible | kCoherent, 1};
  memory.memoryTypes[4] = {kVisible | kCoherent | kCached, 1};
  memory.memoryTypes[5] = {kLocal | VK_MEMORY_PROPERTY_PROTECTED_BIT, 0};
  return memory;
}

}  // namespace

TEST_CASE("memory types: best first, nothing that needs a feature, no heap that is too small", "[vulkan][memory]") {
  const VkPhysicalDeviceMemoryProperties memory = discrete();
  const auto order = [&](MemoryUse use, uint64_t bytes, uint32_t allowed = ~0u) {
    const MemoryTypeOrder result = order_memory_types(memory, allowed, use, bytes);
    std::string text;
    for (uint32_t i = 0; i < result.count; ++i) text += std::to_string(result.types[i]);
    return text;
  };
  CHECK(order(MemoryUse::Device, 1 << 20) == "2134");
  CHECK(order(MemoryUse::Device, 1u << 30) == "234");
  CHECK(order(MemoryUse::Device, 12ull << 30) == "34");
  CHECK(order(MemoryUse::Constants, 1 << 20) == "134");
  CHECK(order(MemoryUse::Constants, 1u << 30) == "34");
  CHECK(order(MemoryUse::Staging, 1 << 20) == "431");
  CHECK(order(MemoryUse::Staging, 1 << 20, 1u << 1) == "1");
  CHECK(order(MemoryUse::Shared, 1 << 20) == "1");
  CHECK(order(MemoryUse::Device, 1ull << 40).empty());
  CHECK_FALSE(has_shared_memory(memory, VK_PHYSICAL_DEVICE_TYPE_DISCRETE_GPU));
  CHECK_FALSE(has_shared_memory(memory, VK_PHYSICAL_DEVICE_TYPE_INTEGRATED_GPU));
}

TEST_CASE("device words: one lower-case word, unique", "[vulkan][words]") {
  CHECK(short_name("llvmpipe (LLVM 15.0.6, 256 bits)") == "llvmpipe");
  CHECK(short_name("SwiftShader Device (Subzero)") == "swiftshader");
  CHECK(short_name("NVIDIA H200") == "nvidia-h200");
  CHECK(short_name("AMD Radeon Graphics (RADV REMBRANDT)") == "radv-rembrandt");
  CHECK(short_name("Intel(R) UHD Graphics 620 (KBL GT2)") == "intel-uhd-620");
  CHECK(short_name("") == "gpu");
  CHECK(short_name("(((") == "gpu");
  std::vector<heed::DeviceInfo> devices(4);
  for (heed::DeviceInfo& device : devices) device.word = "vulkan:a";
  devices[2].word = "vulkan:b";
  make_unique(&devices);
  CHECK(devices[0].word == "vulkan:a");
  CHECK(devices[1].word == "vulkan:a#2");
  CHECK(devices[2].word == "vulkan:b");
  CHECK(devices[3].word == "vulkan:a#3");
}

TEST_CASE("the floor: every limit that is too low is named with both values", "[vulkan][floor]") {
  PhysicalDevice device;
  device.api_version = VK_API_VERSION_1_1;
  VkPhysicalDeviceLimits& limits = device.properties.limits;
  limits.maxComputeWorkGroupInvocations = 128;
  limits.maxComputeSharedMemorySize = 16384;
  limits.maxPushConstantsSize = 128;
  limits.maxStorageBufferRange = 1u << 27;
  limits.maxPerStageDescriptorStorageBuffers = heed::kMaxBindings;
  for (int i = 0; i < 3; ++i) limits.maxComputeWorkGroupCount[i] = 65535;
  limits.maxComputeWorkGroupSize[0] = limits.maxComputeWorkGroupSize[1] = 128;
  limits.maxComputeWorkGroupSize[2] = 64;
  VkQueueFamilyProperties family = {};
  family.queueFlags = VK_QUEUE_COMPUTE_BIT;
  family.queueCount = 1;
  device.queue_families = {family};
  CHECK(below_floor(device) == "");
  limits.maxComputeWorkGroupInvocations = 1024;
  CHECK(capabilities_of(device).max_invocations == 128);  // the limit along one axis
  CHECK(capabilities_of(device).max_group_invocations == 1024);
  limits.maxComputeWorkGroupSize[0] = 2048;
  CHECK(capabilities_of(device).max_invocations == 1024);
  CHECK(capabilities_of(device).registers == heed::kManyRegisters);
  device.driver_id = VK_DRIVER_ID_MOLTENVK;
  CHECK(capabilities_of(device).registers == 128);
  device.driver_id = VK_DRIVER_ID_INTEL_OPEN_SOURCE_MESA;
  CHECK(capabilities_of(device).registers == 128);
  limits.maxComputeSharedMemorySize = 8192;
  CHECK(below_floor(device) == "maxComputeSharedMemorySize is 8192; 16384 is needed");
  device.queue_families.clear();
  CHECK_THAT(below_floor(device), holds("no queue family with compute"));
  device.api_version = VK_API_VERSION_1_0;
  CHECK(below_floor(device) == "Vulkan 1.0; 1.1 is needed");
}

TEST_CASE("the version: whoever has a lower one than the others is named", "[vulkan][floor]") {
  PhysicalDevice device;
  device.properties.apiVersion = VK_MAKE_API_VERSION(0, 1, 2, 354);
  device.api_version = VK_API_VERSION_1_1;
  for (const bool adopted : {false, true}) {
    device.adopted = adopted;
    CHECK(needs_version(VK_API_VERSION_1_3, device) == "Vulkan 1.3 is needed, and the driver has 1.2");
  }
  device.properties.apiVersion = VK_MAKE_API_VERSION(0, 1, 4, 354);
  CHECK(needs_version(VK_API_VERSION_1_3, device) == "Vulkan 1.3 is needed, and HostDevice::api_version is 1.1");
  device.adopted = false;
  CHECK(needs_version(VK_API_VERSION_1_3, device) == "Vulkan 1.3 is needed, and the Vulkan loader has 1.1");
}

TEST_CASE("device reasons: what a host did not tell is told from what a driver has not", "[vulkan][words]") {
  PhysicalDevice device;
  device.queue_families.resize(1);
  device.queue_families[0].queueFlags = VK_QUEUE_COMPUTE_BIT;
  device.queue_families[0].queueCount = 1;
  device.api_version = device.properties.apiVersion = VK_API_VERSION_1_1;
  VkPhysicalDeviceLimits& limits = device.properties.limits;
  limits.maxComputeWorkGroupInvocations = 1024;
  limits.maxComputeSharedMemorySize = 1u << 16;
  limits.maxPushConstantsSize = 256;
  limits.maxStorageBufferRange = 1u << 30;
  limits.maxPerStageDescriptorStorageBuffers = 64;
  for (int i = 0; i < 3; ++i) limits.maxComputeWorkGroupCount[i] = 65535, limits.maxComputeWorkGroupSize[i] = 1024;
  constexpr const char* kNotTold = "the host lists no storageBuffer16BitAccess in HostDevice::enabled_features";
  constexpr const char* kNotThere = "the driver has no storageBuffer16BitAccess";
  for (const bool adopted : {false, true}) {
    device.adopted = adopted;
    device.offered = device.features = {};
    CHECK_THAT(describe(device, 0).reason, holds(kNotThere));
    device.offered.storageBuffer16BitAccess = true;
    if (adopted) CHECK_THAT(describe(device, 0).reason, holds(kNotTold));
    device.features.storageBuffer16BitAccess = true;
    CHECK_THAT(describe(device, 0).reason, !holds("storageBuffer16BitAccess;"));
  }
}

TEST_CASE("queue family: compute, with timestamps if there is a choice", "[vulkan][floor]") {
  VkQueueFamilyProperties transfer = {}, compute = {}, timed = {};
  transfer.queueCount = compute.queueCount = timed.queueCount = 1;
  transfer.queueFlags = VK_QUEUE_TRANSFER_BIT;
  compute.queueFlags = timed.queueFlags = VK_QUEUE_COMPUTE_BIT;
  timed.timestampValidBits = 64;
  CHECK(choose_queue_family({transfer, compute, timed}) == 2);
  CHECK(choose_queue_family({transfer, compute}) == 1);
  CHECK(choose_queue_family({transfer}) == UINT32_MAX);
  VkQueueFamilyProperties draws = timed, empty = timed;
  draws.queueFlags = VK_QUEUE_GRAPHICS_BIT | VK_QUEUE_COMPUTE_BIT;
  empty.queueCount = 0;
  CHECK(choose_queue_family({draws, compute, timed, timed}) == 0);
  CHECK(choose_queue_family({draws, empty, compute, timed, timed}, true) == 3);
  CHECK(choose_queue_family({draws, transfer, compute}, true) == 2);
  CHECK(choose_queue_family({compute, draws}) == 1);
  CHECK(choose_queue_family({transfer, draws}, true) == 1);
  CHECK(choose_queue_family({transfer}, true) == UINT32_MAX);
}

TEST_CASE("VkResult: names and the nearest Status", "[vulkan][names]") {
  using heed::Status;
  CHECK(std::string(to_string(VK_ERROR_DEVICE_LOST)) == "VK_ERROR_DEVICE_LOST");
  CHECK(std::string(to_string(static_cast<VkResult>(-12345))) != "");
  CHECK(to_status(VK_SUCCESS) == Status::Ok);
  CHECK(to_status(VK_INCOMPLETE) == Status::Ok);
  CHECK(to_status(VK_ERROR_DEVICE_LOST) == Status::DeviceLost);
  CHECK(to_status(VK_ERROR_OUT_OF_DEVICE_MEMORY) == Status::OutOfDeviceMemory);
  CHECK(to_status(VK_ERROR_OUT_OF_HOST_MEMORY) == Status::OutOfMemory);
  CHECK(to_status(VK_ERROR_FEATURE_NOT_PRESENT) == Status::Unsupported);
  CHECK(to_status(VK_ERROR_UNKNOWN) == Status::DriverError);
}

TEST_CASE("pipeline cache blob: only what this driver wrote, undamaged", "[vulkan][cache]") {
  VkPhysicalDeviceProperties properties = {};
  properties.vendorID = 0x10005;
  properties.deviceID = 7;
  for (uint32_t i = 0; i < VK_UUID_SIZE; ++i) properties.pipelineCacheUUID[i] = static_cast<uint8_t>(i);
  VkPipelineCacheHeaderVersionOne header = {};
  header.headerSize = sizeof header;
  header.headerVersion = VK_PIPELINE_CACHE_HEADER_VERSION_ONE;
  header.vendorID = properties.vendorID;
  header.deviceID = properties.deviceID;
  std::memcpy(header.pipelineCacheUUID, properties.pipelineCacheUUID, VK_UUID_SIZE);
  std::vector<std::byte> data(sizeof header + 100, std::byte{42});
  std::memcpy(data.data(), &header, sizeof header);

  const char* why = "";
  const std::vector<std::byte> blob = wrap_cache_blob(data);
  const std::span<const std::byte> opened = open_cache_blob(blob, properties, &why);
  CHECK(std::string(why) == "");
  CHECK(std::vector<std::byte>(opened.begin(), opened.end()) == data);

  for (size_t length = 0; length < blob.size(); ++length)
    CHECK(open_cache_blob(std::span(blob).first(length), properties, &why).empty());
  for (size_t at = 0; at < blob.size(); ++at) {
    std::vector<std::byte> damaged = blob;
    damaged[at] ^= std::byte{1};
    CHECK(open_cache_blob(damaged, properties, &why).empty());
  }
  properties.deviceID = 8;
  CHECK(open_cache_blob(blob, properties, &why).empty());
  CHECK(std::string(why) == "it comes from another device or driver version");
}

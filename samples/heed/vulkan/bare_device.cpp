#include "vulkan/bare_device.hpp"

#include <algorithm>
#include <iterator>

#include "commands.hpp"

#if defined(_WIN32)
extern "C" __declspec(dllimport) void* __stdcall LoadLibraryA(const char*);
extern "C" __declspec(dllimport) void(__stdcall* __stdcall GetProcAddress(void*, const char*))();
#else
#include <dlfcn.h>
#endif

namespace heed::program {

namespace {

PFN_vkGetInstanceProcAddr find_loader() {
  const char* chosen = common_options().vulkan_loader.empty() ? nullptr : common_options().vulkan_loader.c_str();
#if defined(_WIN32)
  void* library = LoadLibraryA(chosen ? chosen : "vulkan-1.dll");
  if (!library) return nullptr;
  return reinterpret_cast<PFN_vkGetInstanceProcAddr>(GetProcAddress(library, "vkGetInstanceProcAddr"));
#else
  void* library = dlopen(chosen ? chosen : "libvulkan.so.1", RTLD_NOW | RTLD_LOCAL);
  if (!library) return nullptr;
  return reinterpret_cast<PFN_vkGetInstanceProcAddr>(dlsym(library, "vkGetInstanceProcAddr"));
#endif
}

uint64_t mask_of(uint32_t bits) { return bits >= 64 ? UINT64_MAX : (uint64_t{1} << bits) - 1; }

// Queue families of the queues to create, the first queue's first.
std::vector<uint32_t> families_of(const std::vector<VkQueueFamilyProperties>& all) {
  const auto computes = [](const VkQueueFamilyProperties& one) {
    return (one.queueFlags & VK_QUEUE_COMPUTE_BIT) != 0 && one.queueCount > 0;
  };
  const auto is_apart = [&](const VkQueueFamilyProperties& one) {
    return computes(one) && (one.queueFlags & VK_QUEUE_GRAPHICS_BIT) == 0;
  };
  std::vector<uint32_t> families;
  const auto first = std::find_if(all.begin(), all.end(), computes);
  if (first == all.end()) return families;
  families.push_back(static_cast<uint32_t>(first - all.begin()));
  const auto apart = std::find_if(std::next(first), all.end(), is_apart);
  if (apart != all.end())
    families.push_back(static_cast<uint32_t>(apart - all.begin()));
  else if (first->queueCount > 1)
    families.push_back(families.front());
  return families;
}

}  // namespace

BareDevice::~BareDevice() {
  if (device_) {
    vk_.DeviceWaitIdle(device_);
    for (const BareQueue& queue : queues_) {
      vk_.DestroyQueryPool(device_, queue.queries, nullptr);
      vk_.DestroyCommandPool(device_, queue.pool, nullptr);
    }
    for (const Memory& one : memory_) {
      vk_.DestroyBuffer(device_, one.buffer, nullptr);
      vk_.FreeMemory(device_, one.memory, nullptr);
    }
    vk_.DestroyDevice(device_, nullptr);
  }
  if (instance_ && vk_.DestroyInstance) vk_.DestroyInstance(instance_, nullptr);
}

const char* BareDevice::open(const DeviceInfo& info) {
  const char* failed = make_instance();
  if (!failed) failed = make_device(info);
  for (BareQueue& queue : queues_)
    if (!failed) failed = make_commands(queue);
  return failed;
}

const char* BareDevice::make_instance() {
  get_ = find_loader();
  if (!get_) return "the Vulkan loader";
  const auto create = reinterpret_cast<PFN_vkCreateInstance>(get_(nullptr, "vkCreateInstance"));
  const VkApplicationInfo app = {
      .sType = VK_STRUCTURE_TYPE_APPLICATION_INFO, .pApplicationName = "heed", .apiVersion = VK_API_VERSION_1_1};
  const VkInstanceCreateInfo info = {.sType = VK_STRUCTURE_TYPE_INSTANCE_CREATE_INFO, .pApplicationInfo = &app};
  if (!create || create(&info, nullptr, &instance_) != VK_SUCCESS) return "vkCreateInstance";
#define HEED_LOAD(name)                                                   \
  vk_.name = reinterpret_cast<PFN_vk##name>(get_(instance_, "vk" #name)); \
  if (!vk_.name) return "vk" #name;
  HEED_BARE_CALLS(HEED_LOAD)
#undef HEED_LOAD
  return nullptr;
}

const char* BareDevice::make_device(const DeviceInfo& info) {
  uint32_t count = 0;
  vk_.EnumeratePhysicalDevices(instance_, &count, nullptr);
  std::vector<VkPhysicalDevice> all(count);
  vk_.EnumeratePhysicalDevices(instance_, &count, all.data());
  VkPhysicalDeviceProperties properties;
  for (VkPhysicalDevice candidate : all) {
    vk_.GetPhysicalDeviceProperties(candidate, &properties);
    if (info.name != properties.deviceName) continue;
    physical_ = candidate;
    break;
  }
  if (!physical_) return "the physical device";
  tick_nanoseconds_ = static_cast<double>(properties.limits.timestampPeriod);

  vk_.GetPhysicalDeviceQueueFamilyProperties(physical_, &count, nullptr);
  std::vector<VkQueueFamilyProperties> families(count);
  vk_.GetPhysicalDeviceQueueFamilyProperties(physical_, &count, families.data());
  const std::vector<uint32_t> chosen = families_of(families);
  if (chosen.empty()) return "a compute queue";

  const float priorities[] = {1.0f, 1.0f};
  std::vector<VkDeviceQueueCreateInfo> queues;
  for (const uint32_t family : chosen) {
    if (!queues.empty() && queues.back().queueFamilyIndex == family)
      ++queues.back().queueCount;
    else
      queues.push_back({.sType = VK_STRUCTURE_TYPE_DEVICE_QUEUE_CREATE_INFO,
                        .queueFamilyIndex = family,
                        .queueCount = 1,
                        .pQueuePriorities = priorities});
  }
  const VkDeviceCreateInfo create = {.sType = VK_STRUCTURE_TYPE_DEVICE_CREATE_INFO,
                                     .queueCreateInfoCount = static_cast<uint32_t>(queues.size()),
                                     .pQueueCreateInfos = queues.data()};
  if (vk_.CreateDevice(physical_, &create, nullptr, &device_) != VK_SUCCESS) return "vkCreateDevice";
  for (const uint32_t family : chosen) {
    BareQueue queue = {.family = family, .tick_mask = 0};
    if (const uint32_t bits = families[family].timestampValidBits; bits > 0) queue.tick_mask = mask_of(bits);
    const bool second = !queues_.empty() && queues_.back().family == family;
    vk_.GetDeviceQueue(device_, family, second ? 1 : 0, &queue.queue);
    queues_.push_back(queue);
  }
  return nullptr;
}

const char* BareDevice::make_commands(BareQueue& queue) {
  const VkCommandPoolCreateInfo pool = {.sType = VK_STRUCTURE_TYPE_COMMAND_POOL_CREATE_INFO,
                                        .flags = VK_COMMAND_POOL_CREATE_RESET_COMMAND_BUFFER_BIT,
                                        .queueFamilyIndex = queue.family};
  if (vk_.CreateCommandPool(device_, &pool, nullptr, &queue.pool) != VK_SUCCESS) return "vkCreateCommandPool";
  const VkCommandBufferAllocateInfo allocate = {.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO,
                                                .commandPool = queue.pool,
                                                .level = VK_COMMAND_BUFFER_LEVEL_PRIMARY,
                                                .commandBufferCount = 1};
  if (vk_.AllocateCommandBuffers(device_, &allocate, &queue.commands) != VK_SUCCESS) return "vkAllocateCommandBuffers";
  if (queue.tick_mask == 0) return nullptr;
  const VkQueryPoolCreateInfo queries = {
      .sType = VK_STRUCTURE_TYPE_QUERY_POOL_CREATE_INFO, .queryType = VK_QUERY_TYPE_TIMESTAMP, .queryCount = 2};
  return vk_.CreateQueryPool(device_, &queries, nullptr, &queue.queries) == VK_SUCCESS ? nullptr : "vkCreateQueryPool";
}

const char* BareDevice::make_buffer(VkDeviceSize bytes, VkBuffer* buffer) {
  const VkBufferCreateInfo info = {.sType = VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO,
                                   .size = bytes,
                                   .usage = VK_BUFFER_USAGE_STORAGE_BUFFER_BIT | VK_BUFFER_USAGE_TRANSFER_SRC_BIT |
                                            VK_BUFFER_USAGE_TRANSFER_DST_BIT};
  Memory& one = memory_.emplace_back();
  if (vk_.CreateBuffer(device_, &info, nullptr, &one.buffer) != VK_SUCCESS) return "vkCreateBuffer";
  VkMemoryRequirements needs;
  vk_.GetBufferMemoryRequirements(device_, one.buffer, &needs);
  VkPhysicalDeviceMemoryProperties memory;
  vk_.GetPhysicalDeviceMemoryProperties(physical_, &memory);
  const auto fits = [&](uint32_t type, VkMemoryPropertyFlags flags) {
    return (needs.memoryTypeBits & (1u << type)) && (memory.memoryTypes[type].propertyFlags & flags) == flags;
  };
  uint32_t type = 0;
  while (type < memory.memoryTypeCount && !fits(type, VK_MEMORY_PROPERTY_DEVICE_LOCAL_BIT)) ++type;
  if (type == memory.memoryTypeCount) return "the search for device memory";
  const VkMemoryAllocateInfo allocate = {
      .sType = VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_INFO, .allocationSize = needs.size, .memoryTypeIndex = type};
  if (vk_.AllocateMemory(device_, &allocate, nullptr, &one.memory) != VK_SUCCESS) return "vkAllocateMemory";
  if (vk_.BindBufferMemory(device_, one.buffer, one.memory, 0) != VK_SUCCESS) return "vkBindBufferMemory";
  *buffer = one.buffer;
  return nullptr;
}

bool BareDevice::begin(const BareQueue& queue) const {
  const VkCommandBufferBeginInfo begin = {.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO};
  if (vk_.BeginCommandBuffer(queue.commands, &begin) != VK_SUCCESS) return false;
  if (queue.queries) {
    vk_.CmdResetQueryPool(queue.commands, queue.queries, 0, 2);
    vk_.CmdWriteTimestamp(queue.commands, VK_PIPELINE_STAGE_TOP_OF_PIPE_BIT, queue.queries, 0);
  }
  return true;
}

bool BareDevice::end(const BareQueue& queue) const {
  if (queue.queries) vk_.CmdWriteTimestamp(queue.commands, VK_PIPELINE_STAGE_BOTTOM_OF_PIPE_BIT, queue.queries, 1);
  return vk_.EndCommandBuffer(queue.commands) == VK_SUCCESS;
}

bool BareDevice::submit(const BareQueue& queue) const {
  const VkSubmitInfo submit = {
      .sType = VK_STRUCTURE_TYPE_SUBMIT_INFO, .commandBufferCount = 1, .pCommandBuffers = &queue.commands};
  return vk_.QueueSubmit(queue.queue, 1, &submit, VK_NULL_HANDLE) == VK_SUCCESS;
}

double BareDevice::gpu_seconds(const BareQueue& queue) const {
  uint64_t ticks[2] = {};
  if (!queue.queries || vk_.GetQueryPoolResults(device_, queue.queries, 0, 2, sizeof ticks, ticks, sizeof ticks[0],
                                                VK_QUERY_RESULT_64_BIT | VK_QUERY_RESULT_WAIT_BIT) != VK_SUCCESS)
    return 0;
  return static_cast<double>((ticks[1] - ticks[0]) & queue.tick_mask) * tick_nanoseconds_ * 1e-9;
}

}  // namespace heed::program

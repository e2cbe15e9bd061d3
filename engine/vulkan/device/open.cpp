// Devices that heed lists and opens itself.

#include "vulkan/device/open.hpp"
#include "base/logging.hpp"
#include "vulkan/calls/names.hpp"
#include "vulkan/device/device.hpp"

namespace heed::vulkan {
namespace {

std::vector<DeviceInfo> describe_all(const Instance& instance, const std::vector<VkPhysicalDevice>& handles,
                                     bool async_compute) {
  std::vector<DeviceInfo> devices;
  for (VkPhysicalDevice handle : handles) {
    const PhysicalDevice device = read_physical_device(instance.functions(), handle, instance.api_version());
    devices.push_back(describe(device, choose_queue_family(device.queue_families, async_compute)));
  }
  make_unique(&devices);
  return devices;
}

// Why a queue does not have low priority; empty if it does. `refusal` is what vkCreateDevice returned for it.
std::string why_not_low(const char* extension, VkResult refusal) {
  if (extension == nullptr) return std::string("the driver has no ") + VK_KHR_GLOBAL_PRIORITY_EXTENSION_NAME;
  return refusal == VK_SUCCESS ? "" : format("vkCreateDevice with %s: %s", extension, to_string(refusal));
}

}  // namespace

std::vector<DeviceInfo> list_devices(const DeviceOptions& options) {
  const std::unique_ptr<Instance> instance = Instance::create({.log = options.log, .loader = options.vulkan_loader});
  if (instance == nullptr) return {};
  return describe_all(*instance, instance->physical_devices(), options.async_compute);
}

Status open_device(const DeviceOptions& options, uint32_t index, std::shared_ptr<detail::DeviceImpl>* device) {
  std::unique_ptr<Instance> instance = Instance::create({.log = options.log,
                                                         .validation = options.validation,
                                                         .debug_utils = options.debug_labels,
                                                         .loader = options.vulkan_loader});
  if (instance == nullptr) return fail(options.log, Status::NotFound, "open: Vulkan cannot be started here");
  const std::vector<VkPhysicalDevice> handles = instance->physical_devices();
  const std::vector<DeviceInfo> devices = describe_all(*instance, handles, options.async_compute);
  if (index >= devices.size())
    return fail(options.log, Status::NotFound,
                format("open: Vulkan device %u was asked for; there are %zu", index, devices.size()));
  if (!devices[index].usable)
    return fail(options.log, Status::Unsupported,
                "open: " + devices[index].word + " cannot be used: " + devices[index].reason);
  auto fresh = std::make_shared<VulkanDevice>();
  const Status status = fresh->open(std::move(instance), index, handles[index], devices[index], options);
  if (status == Status::Ok) *device = std::move(fresh);
  return status;
}

Status VulkanDevice::open(std::unique_ptr<Instance> instance, uint32_t index, VkPhysicalDevice physical,
                          const DeviceInfo& info, const DeviceOptions& options) {
  index_ = index;
  loader_ = options.vulkan_loader;
  opened_with_ = {.log = options.log,
                  .vulkan_loader = loader_,
                  .validation = options.validation,
                  .debug_labels = options.debug_labels,
                  .low_priority = options.low_priority,
                  .async_compute = options.async_compute};
  instance_ = std::move(instance);
  context_.vk = instance_->functions();
  context_.log = options.log;
  context_.info = info;
  context_.physical = read_physical_device(context_.vk, physical, instance_->api_version());
  context_.queue_family = choose_queue_family(context_.physical.queue_families, options.async_compute);
  context_.labels = instance_->debug_utils() && options.debug_labels;
  context_.capabilities = capabilities_of(context_.physical);
  apply_self_test(options.self_test_results);
  const Status status = create_device();
  return status == Status::Ok ? pipelines_->create(options.pipeline_cache, VK_NULL_HANDLE) : status;
}

Status VulkanDevice::create_device() {
  const float priority = 0.5f;
  auto queue = structure<VkDeviceQueueCreateInfo>(VK_STRUCTURE_TYPE_DEVICE_QUEUE_CREATE_INFO);
  queue.queueFamilyIndex = context_.queue_family;
  queue.queueCount = 1;
  queue.pQueuePriorities = &priority;
  // robustBufferAccess stays disabled: kernels check their bounds, and it would cost a comparison per load.
  MatrixNeeds needs = matrix_needs(context_.capabilities);
  Features& wanted = needs.features;
  wanted.storageBuffer16BitAccess = context_.physical.features.storageBuffer16BitAccess;
  wanted.shaderIntegerDotProduct = context_.capabilities.integer_dots;
  wanted.maintenance4 = context_.physical.features.maintenance4;
  FeatureChain features(wanted);
  std::vector<const char*>& extensions = needs.extensions;
  if (context_.physical.portability_subset) extensions.push_back("VK_KHR_portability_subset");
  if (context_.physical.memory_budget) extensions.push_back(VK_EXT_MEMORY_BUDGET_EXTENSION_NAME);
  auto low = structure<VkDeviceQueueGlobalPriorityCreateInfoKHR>(
      VK_STRUCTURE_TYPE_DEVICE_QUEUE_GLOBAL_PRIORITY_CREATE_INFO_KHR);
  low.globalPriority = VK_QUEUE_GLOBAL_PRIORITY_LOW_KHR;
  const char* const asks = opened_with_.low_priority ? context_.physical.global_priority : nullptr;
  if (asks != nullptr) {
    queue.pNext = &low;
    extensions.push_back(asks);
  }
  auto info = structure<VkDeviceCreateInfo>(VK_STRUCTURE_TYPE_DEVICE_CREATE_INFO);
  info.pNext = features.first();
  info.queueCreateInfoCount = 1;
  info.pQueueCreateInfos = &queue;
  info.enabledExtensionCount = static_cast<uint32_t>(extensions.size());
  info.ppEnabledExtensionNames = extensions.data();
  VkDevice device = VK_NULL_HANDLE;
  VkResult result = context_.vk.CreateDevice(context_.physical.handle, &info, nullptr, &device);
  VkResult refusal = VK_SUCCESS;
  if (result < 0 && asks != nullptr) {
    refusal = result;
    queue.pNext = nullptr;
    --info.enabledExtensionCount;
    result = context_.vk.CreateDevice(context_.physical.handle, &info, nullptr, &device);
  }
  if (const Status status = context_.check("vkCreateDevice", result); status != Status::Ok) return status;
  if (const char* missing = load_device_functions(device, &context_.vk)) {
    if (context_.vk.DestroyDevice != nullptr) context_.vk.DestroyDevice(device, nullptr);
    return fail(context_.log, Status::DriverError, format("open: %s has no %s", context_.info.word.c_str(), missing));
  }
  context_.device = device;
  context_.memory_budget = context_.physical.memory_budget;
  context_.vk.GetDeviceQueue(device, context_.queue_family, 0, &context_.queue);
  describe_queue(context_.physical, context_.queue_family, opened_with_, why_not_low(asks, refusal), &context_.info);
  return Status::Ok;
}

}  // namespace heed::vulkan

// Devices that belong to a host.
#include "base/logging.hpp"
#include "vulkan/calls/loader.hpp"
#include "vulkan/device/device.hpp"

namespace heed::vulkan {
namespace {

Status check_lists(const HostDevice& host) {
  for (size_t i = 0; i < host.enabled_extensions.size(); ++i)
    if (host.enabled_extensions[i] == nullptr)
      return fail(host.log, Status::InvalidArgument, format("adopt: enabled_extensions[%zu] is null", i));
  if (host.enabled_features != nullptr && host.enabled_features->sType != VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FEATURES_2)
    return fail(host.log, Status::InvalidArgument,
                "adopt: enabled_features has a wrong sType; a VkPhysicalDeviceFeatures2 is needed");
  if ((host.memory.allocate == nullptr) != (host.memory.free == nullptr))
    return fail(host.log, Status::InvalidArgument,
                format("adopt: memory.%s is null, but not the other of the two",
                       host.memory.allocate == nullptr ? "allocate" : "free"));
  if ((host.queue_access.lock == nullptr) != (host.queue_access.unlock == nullptr))
    return fail(host.log, Status::InvalidArgument,
                format("adopt: queue_access.%s is null, but not the other of the two",
                       host.queue_access.lock == nullptr ? "lock" : "unlock"));
  return Status::Ok;
}

Status check_host(const HostDevice& host) {
  const char* missing = nullptr;
  if (host.instance == VK_NULL_HANDLE)
    missing = "instance";
  else if (host.physical_device == VK_NULL_HANDLE)
    missing = "physical_device";
  else if (host.device == VK_NULL_HANDLE)
    missing = "device";
  if (missing != nullptr) return fail(host.log, Status::InvalidArgument, format("adopt: %s is null", missing));
  const Status status = check_lists(host);
  if (status != Status::Ok) return status;
  if (host.api_version < VK_API_VERSION_1_1)
    return fail(host.log, Status::Unsupported,
                format("adopt: HostDevice::api_version is %u.%u; 1.1 is needed", VK_API_VERSION_MAJOR(host.api_version),
                       VK_API_VERSION_MINOR(host.api_version)));
  return Status::Ok;
}

}  // namespace

Status adopt(const HostDevice& host, Device* device) {
  if (device == nullptr) return refuse("vulkan::adopt: device is null");
  Status status = check_host(host);
  if (status != Status::Ok) return status;
  auto fresh = std::make_shared<VulkanDevice>();
  status = fresh->adopt(host);
  if (status == Status::Ok) *device = Device(std::move(fresh));
  return status;
}

Status device_gone(const Device& device) {
  detail::DeviceImpl* impl = device.impl().get();
  if (impl == nullptr) return refuse("vulkan::device_gone: the device is empty");
  if (impl->backend() != detail::Backend::Vulkan || !static_cast<VulkanDevice*>(impl)->adopted())
    return fail(impl->log(), Status::InvalidArgument,
                "device_gone: " + impl->info().word + " is no device that heed adopted from a host");
  Context& context = static_cast<VulkanDevice*>(impl)->context();
  context.lost = context.hung = context.gone = true;
  return Status::Ok;
}

Status VulkanDevice::adopt(const HostDevice& host) {
  // Only the features that the host lists count, not what the physical device supports.
  Features told = read_features(host.enabled_features);
  // With the memory model enabled, atomics have device scope: VUID-RuntimeSpirv-vulkanMemoryModel-06265.
  if (told.vulkanMemoryModel && !told.vulkanMemoryModelDeviceScope)
    return fail(host.log, Status::Unsupported,
                "adopt: HostDevice::enabled_features tells vulkanMemoryModel, but not vulkanMemoryModelDeviceScope, "
                "which heed needs with it");
  context_.log = host.log;
  const bool hosts_loader = host.get_instance_proc_addr != nullptr;
  context_.vk.GetInstanceProcAddr = hosts_loader ? host.get_instance_proc_addr : find_loader();
  if (context_.vk.GetInstanceProcAddr == nullptr)
    return fail(host.log, Status::InvalidArgument,
                "adopt: get_instance_proc_addr is null, and heed can open no Vulkan loader that has it");
  const char* missing = load_instance_functions(host.instance, host.debug_utils, &context_.vk);
  if (missing == nullptr) missing = load_device_functions(host.device, &context_.vk);
  if (missing != nullptr)
    return fail(
        host.log, Status::InvalidArgument,
        format(
            "adopt: %s knows no %s. heed needs an instance and a device of Vulkan 1.1 (VkApplicationInfo::apiVersion), "
            "and the loader that the instance was created with",
            hosts_loader ? "get_instance_proc_addr"
                         : "get_instance_proc_addr is null, and the Vulkan loader that heed opened",
            missing));

  const std::string untold = untold_for_matrices(told, host.enabled_extensions);
  // Functions of extensions are loaded only if everything they need is enabled.
  if (untold.empty()) load_extension_functions(host.instance, &context_.vk);
  context_.physical = read_physical_device(context_.vk, host.physical_device, host.api_version, true);
  const auto& families = context_.physical.queue_families;
  if (host.queue_family >= families.size() || (families[host.queue_family].queueFlags & VK_QUEUE_COMPUTE_BIT) == 0)
    return fail(host.log, Status::InvalidArgument,
                format("adopt: queue family %u has no compute (the device has %zu families)", host.queue_family,
                       families.size()));
  if (host.assume_16bit_storage && context_.physical.offered.storageBuffer16BitAccess)
    told.storageBuffer16BitAccess = true;
  context_.physical.features = told;
  context_.physical.memory_budget = contains(host.enabled_extensions, VK_EXT_MEMORY_BUDGET_EXTENSION_NAME);
  if (!untold.empty() && context_.physical.matrix_units.missing.empty())
    context_.physical.matrix_units.missing = "the host lists no " + untold;
  const std::string untold_bfloat = untold_for_bfloat(told, host.enabled_extensions);
  if (!untold_bfloat.empty() && context_.physical.matrix_units.bfloat_missing.empty())
    context_.physical.matrix_units.bfloat_missing = "the host lists no " + untold_bfloat;
  const std::string untold_bytes = untold_for_bytes(told);
  if (!untold_bytes.empty() && context_.physical.matrix_units.byte_missing.empty())
    context_.physical.matrix_units.byte_missing = "the host lists no " + untold_bytes;
  context_.info = describe(context_.physical, host.queue_family);
  if (!context_.info.usable)
    return fail(host.log, Status::Unsupported,
                "adopt: " + context_.info.name + " cannot be used: " + context_.info.reason);
  context_.allocator = host.allocator;
  context_.memory = host.memory;
  context_.memory_budget = context_.physical.memory_budget;
  context_.queue = host.queue;
  context_.queue_access = host.queue_access;
  context_.queue_family = host.queue_family;
  context_.capabilities = capabilities_of(context_.physical);
  apply_self_test(host.self_test_results);
  context_.labels = host.debug_utils && context_.vk.SetDebugUtilsObjectNameEXT != nullptr &&
                    context_.vk.CmdBeginDebugUtilsLabelEXT != nullptr &&
                    context_.vk.CmdEndDebugUtilsLabelEXT != nullptr;
  context_.device = host.device;
  return pipelines_->create(host.pipeline_cache_blob, host.pipeline_cache);
}

}  // namespace heed::vulkan

// The calls of <heed/vulkan_memory.hpp> on devices.
#include "base/logging.hpp"
#include "vulkan/device/device.hpp"
#include "vulkan/memory/device_memory.hpp"

namespace heed::vulkan {
namespace {

VulkanDevice* device_of(const Device& device) {
  detail::DeviceImpl* impl = device.impl().get();
  const bool mine = impl != nullptr && impl->backend() == detail::Backend::Vulkan;
  return mine ? static_cast<VulkanDevice*>(impl) : nullptr;
}

}  // namespace

Status upload_needs(const Device& device, std::span<const HostTensor> tensors, BufferNeeds* needs,
                    const UploadOptions& options) {
  VulkanDevice* impl = device_of(device);
  return impl == nullptr || needs == nullptr
             ? refuse("vulkan::upload_needs: the device is no Vulkan device, or needs is null")
             : impl->upload_needs(tensors, options, needs);
}

Status upload(const Device& device, std::span<const HostTensor> tensors, const WeightTarget& target, Weights* weights,
              const UploadOptions& options) {
  VulkanDevice* impl = device_of(device);
  if (impl == nullptr || weights == nullptr)
    return refuse("vulkan::upload: the device is no Vulkan device, or weights is null");
  std::shared_ptr<detail::WeightsImpl> uploaded;
  const Status status = impl->upload_to(target, tensors, options, &uploaded);
  if (status == Status::Ok) *weights = Weights(std::move(uploaded));
  return status;
}

Status memory_budget(const Device& device, std::vector<HeapBudget>* heaps) {
  VulkanDevice* impl = device_of(device);
  if (impl == nullptr || heaps == nullptr)
    return refuse("vulkan::memory_budget: the device is no Vulkan device, or heaps is null");
  const Context& context = impl->context();
  if (!context.memory_budget)
    return fail(context.log, Status::Unsupported,
                format("memory_budget: %s no %s",
                       context.physical.adopted ? "the host lists in HostDevice::enabled_extensions" : "the driver has",
                       VK_EXT_MEMORY_BUDGET_EXTENSION_NAME));
  if (const Status status = context.there("memory_budget"); status != Status::Ok) return status;
  const VkPhysicalDeviceMemoryBudgetPropertiesEXT budget = read_memory_budget(context);
  const VkPhysicalDeviceMemoryProperties& memory = context.physical.memory;
  heaps->clear();
  for (uint32_t i = 0; i < memory.memoryHeapCount; ++i)
    heaps->push_back({(memory.memoryHeaps[i].flags & VK_MEMORY_HEAP_DEVICE_LOCAL_BIT) != 0, memory.memoryHeaps[i].size,
                      budget.heapBudget[i], budget.heapUsage[i]});
  return Status::Ok;
}

}  // namespace heed::vulkan

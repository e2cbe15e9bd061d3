// The calls of <heed/vulkan_memory.hpp>.
#include "base/logging.hpp"
#include "vulkan/device_memory.hpp"
#include "vulkan/host_range.hpp"
#include "vulkan/plan.hpp"

namespace heed::vulkan {
namespace {

VulkanDevice* device_of(const Device& device) {
  detail::DeviceImpl* impl = device.impl().get();
  const bool mine = impl != nullptr && impl->backend() == detail::Backend::Vulkan;
  return mine ? static_cast<VulkanDevice*>(impl) : nullptr;
}

}  // namespace

Status scratch_needs(const Plan& plan, BufferNeeds* needs) {
  VulkanPlan* impl = plan_of(plan, "scratch_needs");
  return impl == nullptr || needs == nullptr ? Status::InvalidArgument : impl->scratch_needs(needs);
}

Status bind_scratch(const Plan& plan, const BufferRange& range) {
  VulkanPlan* impl = plan_of(plan, "bind_scratch");
  return impl == nullptr ? Status::InvalidArgument : impl->bind_scratch(range);
}

Status upload_needs(const Device& device, std::span<const HostTensor> tensors, BufferNeeds* needs,
                    const UploadOptions& options) {
  VulkanDevice* impl = device_of(device);
  return impl == nullptr || needs == nullptr ? Status::InvalidArgument : impl->upload_needs(tensors, options, needs);
}

Status upload(const Device& device, std::span<const HostTensor> tensors, const WeightTarget& target, Weights* weights,
              const UploadOptions& options) {
  VulkanDevice* impl = device_of(device);
  if (impl == nullptr || weights == nullptr) return Status::InvalidArgument;
  std::shared_ptr<detail::WeightsImpl> uploaded;
  const Status status = impl->upload_to(target, tensors, options, &uploaded);
  if (status == Status::Ok) *weights = Weights(std::move(uploaded));
  return status;
}

Status memory_budget(const Device& device, std::vector<HeapBudget>* heaps) {
  VulkanDevice* impl = device_of(device);
  if (impl == nullptr || heaps == nullptr) return Status::InvalidArgument;
  const Context& context = impl->context();
  if (!context.memory_budget)
    return fail(context.log, Status::Unsupported,
                format("memory_budget: %s is not enabled", VK_EXT_MEMORY_BUDGET_EXTENSION_NAME));
  const VkPhysicalDeviceMemoryBudgetPropertiesEXT budget = read_memory_budget(context);
  const VkPhysicalDeviceMemoryProperties& memory = context.physical.memory;
  heaps->clear();
  for (uint32_t i = 0; i < memory.memoryHeapCount; ++i)
    heaps->push_back({(memory.memoryHeaps[i].flags & VK_MEMORY_HEAP_DEVICE_LOCAL_BIT) != 0, memory.memoryHeaps[i].size,
                      budget.heapBudget[i], budget.heapUsage[i]});
  return Status::Ok;
}

Status VulkanPlan::scratch_needs(BufferNeeds* needs) {
  return needs_of(context_, schedule_.scratch_bytes, VK_BUFFER_USAGE_STORAGE_BUFFER_BIT, device_->weight_alignment(),
                  needs);
}

Status VulkanPlan::bind_scratch(const BufferRange& range) {
  Status status = context_.alive("bind_scratch");
  if (status != Status::Ok) return status;
  if (!options_.host_scratch)
    return fail(context_.log, Status::InvalidArgument,
                "bind_scratch: the plan has its own scratch; compile it with host_scratch");
  if (schedule_.scratch_bytes == 0) return Status::Ok;
  status = check_range(context_, "bind_scratch", range, schedule_.scratch_bytes, device_->weight_alignment());
  if (status != Status::Ok) return status;
  scratch_at_ = range;
  forget_run();
  for (uint32_t use = 0; use < uses_.size(); ++use)
    for (uint32_t slot = 0; slot < (uses_[use].per_slot() ? slots_.size() : 1); ++slot)
      write_fixed_descriptors(use, slot, true);
  return Status::Ok;
}

}  // namespace heed::vulkan

#include "vulkan/device/device.hpp"

#include "vulkan/memory/host_range.hpp"
#include "vulkan/memory/weights.hpp"
#include "vulkan/plan/plan.hpp"

namespace heed::vulkan {

VulkanDevice::~VulkanDevice() {
  // Plans and weights keep their device alive, so only pipelines remain here.
  if (context_.device != VK_NULL_HANDLE) pipelines_.reset();
  if (context_.hung) (void)instance_.release();
  if (instance_ != nullptr && context_.device != VK_NULL_HANDLE) context_.vk.DestroyDevice(context_.device, nullptr);
}

std::unique_ptr<const detail::PlanningDevice> VulkanDevice::planning() const {
  const Capabilities& can = context_.capabilities;
  return std::make_unique<KernelPlanning>(
      can, detail::PlanningTraits{.alignment = weight_alignment(), .max_tensor_bytes = can.max_storage_range});
}

Status VulkanDevice::upload(std::span<const HostTensor> tensors, const UploadOptions& options,
                            std::shared_ptr<detail::WeightsImpl>* weights) {
  auto fresh = std::make_shared<VulkanWeights>(shared_from_this(), context_);
  const Status status = fresh->upload(tensors, options);
  if (status == Status::Ok) *weights = std::move(fresh);
  return status;
}

Status VulkanDevice::upload_to(const WeightTarget& target, std::span<const HostTensor> tensors,
                               const UploadOptions& options, std::shared_ptr<detail::WeightsImpl>* weights) {
  auto fresh = std::make_shared<VulkanWeights>(shared_from_this(), context_);
  const Status status = fresh->upload_to(target, tensors, options);
  if (status == Status::Ok) *weights = std::move(fresh);
  return status;
}

Status VulkanDevice::upload_needs(std::span<const HostTensor> tensors, const UploadOptions& options,
                                  BufferNeeds* needs) {
  std::vector<detail::WeightsImpl::Entry> entries;
  std::vector<size_t> order;
  uint64_t bytes = 0;
  const Status status = detail::place_weights(tensors, options, weight_alignment(), most_weight_bytes(), context_.log,
                                              &entries, &order, &bytes);
  if (status != Status::Ok) return status;
  return needs_of(context_, bytes, kWeightsUsage, weight_alignment(), needs);
}

Status VulkanDevice::compile(Schedule&& schedule, std::shared_ptr<detail::WeightsImpl> weights,
                             const CompileOptions& options, std::shared_ptr<detail::PlanImpl>* plan) {
  Status status = context_.alive("compile");
  if (status != Status::Ok) return status;
  const auto entries = detail::find_weights(schedule, weights.get());
  // Device::compile has checked that they belong to this device, hence have this type.
  auto fresh =
      std::make_shared<VulkanPlan>(shared_from_this(), context_, *pipelines_,
                                   std::static_pointer_cast<VulkanWeights>(weights), std::move(schedule), options);
  status = fresh->compile(entries);
  if (status == Status::Ok) *plan = std::move(fresh);
  return status;
}

}  // namespace heed::vulkan

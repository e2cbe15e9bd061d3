// The Vulkan device: opened by heed or adopted from a host.
#pragma once

#include <heed/vulkan.hpp>
#include <memory>

#include "graph/schedule/backend.hpp"
#include "vulkan/context/context.hpp"
#include "vulkan/pipelines/pipelines.hpp"
#include "vulkan/probe/instance.hpp"

namespace heed::vulkan {

class VulkanDevice final : public detail::DeviceImpl {
 public:
  VulkanDevice() : pipelines_(std::make_unique<Pipelines>(context_)) {}
  ~VulkanDevice() override;

  // Makes a VkDevice on `physical`, with only the features that heed uses.
  Status open(std::unique_ptr<Instance> instance, uint32_t index, VkPhysicalDevice physical, const DeviceInfo& info,
              const DeviceOptions& options);
  Status adopt(const HostDevice& host);
  bool adopted() const { return instance_ == nullptr; }

  detail::Backend backend() const override { return detail::Backend::Vulkan; }
  const DeviceInfo& info() const override { return context_.info; }
  const Log& log() const override { return context_.log; }
  uint64_t weight_alignment() const override { return context_.buffer_alignment(); }
  uint64_t most_weight_bytes() const override { return context_.capabilities.max_storage_range; }
  std::unique_ptr<const detail::PlanningDevice> planning() const override;
  Status upload(std::span<const HostTensor> tensors, const UploadOptions& options,
                std::shared_ptr<detail::WeightsImpl>* weights) override;
  Status upload_to(const WeightTarget& target, std::span<const HostTensor> tensors, const UploadOptions& options,
                   std::shared_ptr<detail::WeightsImpl>* weights);
  Status upload_needs(std::span<const HostTensor> tensors, const UploadOptions& options, BufferNeeds* needs);
  Status compile(Schedule&& schedule, std::shared_ptr<detail::WeightsImpl> weights, const CompileOptions& options,
                 std::shared_ptr<detail::PlanImpl>* plan) override;
  Status pipeline_cache(std::vector<std::byte>* blob) const override {
    const Status status = context_.there("pipeline_cache");
    return status == Status::Ok ? pipelines_->blob(blob) : status;
  }

  // In self_test.cpp.
  uint64_t self_test_key() const override;
  std::vector<std::string> kernel_names() const override;
  std::vector<std::string> disabled_kernels() const override;
  void disable_kernels(std::span<const std::string> names) override;
  bool supports(DType dtype) const override;
  Tested tested() const override { return tested_; }
  Status reopen(std::shared_ptr<detail::DeviceImpl>* device) const override;
  bool timed_out() const override { return context_.timed_out; }
  void apply_self_test(std::span<const std::byte> blob);

  Context& context() { return context_; }

 private:
  Status create_device();

  std::unique_ptr<Instance> instance_;  // null if adopted
  uint32_t index_ = 0;                  // index in list_devices, if heed opened the device
  std::string loader_;
  DeviceOptions opened_with_;  // what reopen needs; its vulkan_loader refers to loader_
  Tested tested_ = Tested::Unknown;
  Context context_;
  std::unique_ptr<Pipelines> pipelines_;
};

}  // namespace heed::vulkan

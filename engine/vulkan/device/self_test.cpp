// A Vulkan device's part of the self-test: lists its kernels, and disables those that failed, now or at an earlier start.
#include <algorithm>
#include <cstring>

#include "base/fnv.hpp"
#include "base/logging.hpp"
#include "graph/schedule/self_test_blob.hpp"
#include "vulkan/device/device.hpp"
#include "vulkan/device/open.hpp"

namespace heed::vulkan {

uint64_t VulkanDevice::self_test_key() const {
  const VkPhysicalDeviceProperties& properties = context_.physical.properties;
  uint64_t key = kFnvStart;
  const auto add = [&](const void* data, size_t bytes) {
    key = fnv1a({static_cast<const std::byte*>(data), bytes}, key);
  };
  add(&properties.vendorID, sizeof properties.vendorID);
  add(&properties.deviceID, sizeof properties.deviceID);
  add(&properties.driverVersion, sizeof properties.driverVersion);
  add(properties.pipelineCacheUUID, sizeof properties.pipelineCacheUUID);
  add(properties.deviceName, std::strlen(properties.deviceName));
  add(context_.physical.driver.data(), context_.physical.driver.size());
  for (uint32_t i = 0; i < kKernelCount; ++i) {
    const uint64_t digest = kernel_info(static_cast<KernelId>(i)).module->digest;
    add(&digest, sizeof digest);
  }
  return key;
}

std::vector<std::string> VulkanDevice::kernel_names() const {
  std::vector<std::string> names;
  for (uint32_t i = 0; i < kKernelCount; ++i) names.emplace_back(kernel_info(static_cast<KernelId>(i)).name);
  return names;
}

std::vector<std::string> VulkanDevice::disabled_kernels() const {
  std::vector<std::string> names;
  for (uint32_t i = 0; i < kKernelCount; ++i)
    if (context_.capabilities.disabled[i]) names.emplace_back(kernel_info(static_cast<KernelId>(i)).name);
  return names;
}

void VulkanDevice::disable_kernels(std::span<const std::string> names) {
  for (uint32_t i = 0; i < kKernelCount; ++i)
    if (std::find(names.begin(), names.end(), kernel_info(static_cast<KernelId>(i)).name) != names.end())
      context_.capabilities.disabled[i] = true;
}

bool VulkanDevice::supports(DType dtype) const {
  return (dtype != DType::F16 && dtype != DType::BF16) || context_.capabilities.storage_16bit;
}

Status VulkanDevice::reopen(std::shared_ptr<detail::DeviceImpl>* device) const {
  if (instance_ == nullptr) return Status::Unsupported;
  return open_device(opened_with_, index_, device);
}

void VulkanDevice::apply_self_test(std::span<const std::byte> blob) {
  if (blob.empty()) return;
  std::vector<std::string> failed;
  const std::string why = read_self_test(blob, self_test_key(), &failed);
  if (!why.empty()) {
    heed::log(context_.log, LogLevel::Warning, "self-test results are ignored: " + why);
    return;
  }
  disable_kernels(failed);
  tested_ = failed.empty() ? Tested::Passed : Tested::Failed;
  for (const std::string& name : failed)
    heed::log(context_.log, LogLevel::Warning,
              context_.info.word + ": " + name + " failed the self-test and is not used");
}

}  // namespace heed::vulkan

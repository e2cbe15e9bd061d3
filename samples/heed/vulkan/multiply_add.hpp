// Multiply-adds in registers (shaders/multiply_add.comp): the arithmetic limit of a device, and a load that depends only on its clock.
#pragma once

#include "vulkan/bare_device.hpp"

namespace heed::program {

class MultiplyAdd {
 public:
  explicit MultiplyAdd(const BareDevice& device) : device_(device) {}
  ~MultiplyAdd();
  MultiplyAdd(const MultiplyAdd&) = delete;
  MultiplyAdd& operator=(const MultiplyAdd&) = delete;

  // `sink` is a buffer of at least 4 bytes that is never written. Returns null, or the name of the call that failed.
  const char* make(VkBuffer sink);

  static constexpr uint32_t kGroups = 8192;
  static double operations(uint32_t steps);  // of one dispatch; a multiply-add counts as two
  void record(VkCommandBuffer commands, uint32_t steps) const;
  // The number of steps whose dispatch takes this long; 0: a call failed.
  uint32_t steps_for(double seconds) const;

 private:
  const char* make_pipeline();
  const char* make_descriptors(VkBuffer sink);

  const BareDevice& device_;
  VkShaderModule module_ = VK_NULL_HANDLE;
  VkDescriptorSetLayout set_layout_ = VK_NULL_HANDLE;
  VkPipelineLayout layout_ = VK_NULL_HANDLE;
  VkPipeline pipeline_ = VK_NULL_HANDLE;
  VkDescriptorPool descriptors_ = VK_NULL_HANDLE;
  VkDescriptorSet set_ = VK_NULL_HANDLE;
};

}  // namespace heed::program

// The compute pipelines of one device: made once per KernelKey, shared by all plans.
#pragma once

#include <array>
#include <atomic>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <vector>

#include "kernels/dispatch.hpp"
#include "vulkan/context/context.hpp"

namespace heed::vulkan {

// One pipeline, created or not. Its address stays the same for the life of the device.
struct Pipeline {
  Pipeline(const KernelKey& wanted, uint32_t bindings) : key(wanted), binding_count(bindings) {}

  const KernelKey key;
  const uint32_t binding_count;
  std::atomic<VkPipeline> handle{VK_NULL_HANDLE};
  std::mutex building;

  bool ready() const { return handle.load(std::memory_order_acquire) != VK_NULL_HANDLE; }
  std::string name() const;  // "softmax_f32(8,16,1,0)"
};

class Pipelines {
 public:
  explicit Pipelines(Context& context) : context_(context) {}
  ~Pipelines();
  Pipelines(const Pipelines&) = delete;
  Pipelines& operator=(const Pipelines&) = delete;

  // `host_cache` is used instead of heed's own cache, and never destroyed. Otherwise `blob` is the result of blob() at an earlier start;
  // one that cannot be used is ignored with a warning.
  Status create(std::span<const std::byte> blob, VkPipelineCache host_cache);

  // All calls below are thread-safe. find returns the entry for `key`, without creating the pipeline.
  Pipeline* find(const KernelKey& key, uint32_t binding_count);
  // Creates the pipeline if it does not exist. If another thread is creating it, waits for that.
  Status build(Pipeline& pipeline);
  Status blob(std::vector<std::byte>* blob);

  // Kernels with the same number of bindings share layouts: storage buffers 0 .. count-1, and kMaxPushBytes of push constants, which every
  // device supports.
  VkDescriptorSetLayout set_layout(uint32_t buffer_count) const { return set_layouts_[buffer_count]; }
  VkPipelineLayout layout(uint32_t buffer_count) const { return layouts_[buffer_count]; }

 private:
  Status create_layouts();
  Status create_module(const KernelKey& key, VkShaderModule* module);
  Status create_pipeline(const KernelKey& key, uint32_t binding_count, VkPipeline* pipeline);

  Context& context_;
  VkPipelineCache cache_ = VK_NULL_HANDLE;
  bool owns_cache_ = false;
  std::array<VkDescriptorSetLayout, kMaxBindings + 1> set_layouts_{};
  std::array<VkPipelineLayout, kMaxBindings + 1> layouts_{};
  std::mutex mutex_;                                // for entries_ only; the driver synchronizes its cache itself
  std::vector<std::unique_ptr<Pipeline>> entries_;  // some dozens: a linear search is as fast as a hash
};

}  // namespace heed::vulkan

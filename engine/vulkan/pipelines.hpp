// The compute pipelines of one device: made once per KernelKey, shared by all plans.
#pragma once

#include <array>
#include <mutex>
#include <span>
#include <vector>

#include "kernels/dispatch.hpp"
#include "vulkan/context.hpp"

namespace heed::vulkan {

class Pipelines {
 public:
  explicit Pipelines(Context& context) : context_(context) {}
  ~Pipelines();
  Pipelines(const Pipelines&) = delete;
  Pipelines& operator=(const Pipelines&) = delete;

  // `host_cache`: used instead of an own cache, never destroyed. Otherwise `blob` is what blob() gave at an
  // earlier start; one that cannot be used is ignored with a warning.
  Status create(std::span<const std::byte> blob, VkPipelineCache host_cache);

  // Thread-safe.
  Status get(const KernelKey& key, VkPipeline* pipeline);
  Status blob(std::vector<std::byte>* blob);

  // Kernels with the same number of bindings share their layouts: storage buffers 0 .. count-1, and
  // kMaxPushBytes of push constants, which every device has.
  VkDescriptorSetLayout set_layout(uint32_t buffer_count) const { return set_layouts_[buffer_count]; }
  VkPipelineLayout layout(uint32_t buffer_count) const { return layouts_[buffer_count]; }

 private:
  Status create_layouts();
  Status build(const KernelKey& key, VkPipeline* pipeline);

  struct Entry {
    KernelKey key;
    VkPipeline pipeline = VK_NULL_HANDLE;
  };

  Context& context_;
  VkPipelineCache cache_ = VK_NULL_HANDLE;
  bool owns_cache_ = false;
  std::array<VkDescriptorSetLayout, kMaxBindings + 1> set_layouts_{};
  std::array<VkPipelineLayout, kMaxBindings + 1> layouts_{};
  std::mutex mutex_;
  std::vector<Entry> entries_;  // some dozens: a linear search is as fast as a hash
};

}  // namespace heed::vulkan

// Draws a picture without a window. Full-screen layers are computed for every pixel and blended additively.
#pragma once

#include <cstdint>

#include "vulkan/context/context.hpp"

namespace heed::gpu_tests {

class Scene {
 public:
  explicit Scene(vulkan::Context& context) : context_(context) {}
  ~Scene();
  Scene(const Scene&) = delete;
  Scene& operator=(const Scene&) = delete;

  // Returns Unsupported, with the reason in the log, if the device's queue cannot draw.
  Status create(VkExtent2D size);
  void draw(VkCommandBuffer commands, uint32_t layers) const;

 private:
  bool load();
  Status create_image();
  Status create_pass();
  Status create_pipeline();

  // Vulkan functions that heed itself does not use.
  struct Functions {
#define HEED_DRAWING(X)         \
  X(CreateImage)                \
  X(DestroyImage)               \
  X(GetImageMemoryRequirements) \
  X(BindImageMemory)            \
  X(CreateImageView)            \
  X(DestroyImageView)           \
  X(CreateRenderPass)           \
  X(DestroyRenderPass)          \
  X(CreateFramebuffer)          \
  X(DestroyFramebuffer)         \
  X(CreateGraphicsPipelines)    \
  X(CmdBeginRenderPass)         \
  X(CmdEndRenderPass)           \
  X(CmdDraw)
#define HEED_MEMBER(name) PFN_vk##name name = nullptr;
    HEED_DRAWING(HEED_MEMBER)
#undef HEED_MEMBER
  };

  vulkan::Context& context_;
  Functions vk_;
  VkExtent2D size_ = {};
  VkImage image_ = VK_NULL_HANDLE;
  VkDeviceMemory memory_ = VK_NULL_HANDLE;
  VkImageView view_ = VK_NULL_HANDLE;
  VkRenderPass pass_ = VK_NULL_HANDLE;
  VkFramebuffer framebuffer_ = VK_NULL_HANDLE;
  VkPipelineLayout layout_ = VK_NULL_HANDLE;
  VkPipeline pipeline_ = VK_NULL_HANDLE;
};

}  // namespace heed::gpu_tests

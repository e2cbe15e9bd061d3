// What is drawn into: a multisampled colour and depth image, resolved into the images of a window or into one
// that can be copied to the host.
#pragma once

#include "resources.hpp"

namespace swarm {

class Canvas {
 public:
  // Every Vulkan device can do four samples in these formats.
  static constexpr VkSampleCountFlagBits kSamples = VK_SAMPLE_COUNT_4_BIT;

  // `final_layout`: that of the images after the pass.
  Canvas(const Gpu& gpu, VkFormat format, VkImageLayout final_layout);

  // New images to draw into; what was drawn into before must be finished.
  void resize(VkExtent2D size, std::span<const VkImageView> views);

  VkRenderPass pass() const { return pass_; }
  VkExtent2D size() const { return size_; }
  // Starts the pass with a viewport over everything.
  void begin(VkCommandBuffer commands, uint32_t index) const;
  void end(VkCommandBuffer commands) const { vkCmdEndRenderPass(commands); }

 private:
  const Gpu& gpu_;
  VkFormat format_, depth_format_;
  Owned<VkRenderPass> pass_;
  VkExtent2D size_{};
  Image color_, depth_;
  std::vector<Owned<VkFramebuffer>> framebuffers_;
};

}  // namespace swarm

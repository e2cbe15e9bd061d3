// A multisampled colour and depth image to draw into. It is resolved into the images of a window, or into one that can be copied to the
// host.
#pragma once

#include "resources.hpp"

namespace swarm {

class Canvas {
 public:
  // Vulkan guarantees four samples for these formats.
  static constexpr VkSampleCountFlagBits kSamples = VK_SAMPLE_COUNT_4_BIT;

  // The images are in `final_layout` after the pass.
  Canvas(const Gpu& gpu, VkFormat format, VkImageLayout final_layout);

  // Replaces the images to draw into. Drawing into the earlier ones must be finished.
  void resize(VkExtent2D size, std::span<const VkImageView> views);

  VkRenderPass pass() const { return pass_; }
  VkExtent2D size() const { return size_; }
  // Starts the pass with a viewport that covers the image.
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

#include "canvas.hpp"

#include <array>

namespace swarm {
namespace {

VkFormat choose_depth(const Gpu& gpu) {
  // Vulkan guarantees that every device has one of the first two.
  for (const VkFormat format : {VK_FORMAT_D32_SFLOAT, VK_FORMAT_X8_D24_UNORM_PACK32}) {
    VkFormatProperties properties;
    vkGetPhysicalDeviceFormatProperties(gpu.physical, format, &properties);
    if ((properties.optimalTilingFeatures & VK_FORMAT_FEATURE_DEPTH_STENCIL_ATTACHMENT_BIT) != 0) return format;
  }
  return VK_FORMAT_D16_UNORM;
}

Owned<VkRenderPass> make_pass(const Gpu& gpu, VkFormat color, VkFormat depth, VkImageLayout final_layout) {
  VkAttachmentDescription attachments[3] = {};
  for (VkAttachmentDescription& a : attachments) {
    a.samples = Canvas::kSamples;
    a.loadOp = VK_ATTACHMENT_LOAD_OP_CLEAR;
    a.storeOp = VK_ATTACHMENT_STORE_OP_DONT_CARE;
    a.stencilLoadOp = VK_ATTACHMENT_LOAD_OP_DONT_CARE;
    a.stencilStoreOp = VK_ATTACHMENT_STORE_OP_DONT_CARE;
    a.finalLayout = VK_IMAGE_LAYOUT_COLOR_ATTACHMENT_OPTIMAL;
  }
  attachments[0].format = attachments[2].format = color;
  attachments[1].format = depth;
  attachments[1].finalLayout = VK_IMAGE_LAYOUT_DEPTH_STENCIL_ATTACHMENT_OPTIMAL;
  attachments[2].samples = VK_SAMPLE_COUNT_1_BIT;
  attachments[2].loadOp = VK_ATTACHMENT_LOAD_OP_DONT_CARE;
  attachments[2].storeOp = VK_ATTACHMENT_STORE_OP_STORE;
  attachments[2].finalLayout = final_layout;

  const VkAttachmentReference color_use = {0, VK_IMAGE_LAYOUT_COLOR_ATTACHMENT_OPTIMAL};
  const VkAttachmentReference depth_use = {1, VK_IMAGE_LAYOUT_DEPTH_STENCIL_ATTACHMENT_OPTIMAL};
  const VkAttachmentReference resolve_use = {2, VK_IMAGE_LAYOUT_COLOR_ATTACHMENT_OPTIMAL};
  VkSubpassDescription subpass{};
  subpass.pipelineBindPoint = VK_PIPELINE_BIND_POINT_GRAPHICS;
  subpass.colorAttachmentCount = 1;
  subpass.pColorAttachments = &color_use;
  subpass.pResolveAttachments = &resolve_use;
  subpass.pDepthStencilAttachment = &depth_use;

  constexpr VkPipelineStageFlags kDrawing = VK_PIPELINE_STAGE_COLOR_ATTACHMENT_OUTPUT_BIT |
                                            VK_PIPELINE_STAGE_EARLY_FRAGMENT_TESTS_BIT |
                                            VK_PIPELINE_STAGE_LATE_FRAGMENT_TESTS_BIT;
  constexpr VkAccessFlags kWrites = VK_ACCESS_COLOR_ATTACHMENT_WRITE_BIT | VK_ACCESS_DEPTH_STENCIL_ATTACHMENT_WRITE_BIT;
  VkSubpassDependency dependencies[2] = {};
  // Frames in flight share the images, so that a frame waits until the one before has drawn.
  dependencies[0].srcSubpass = VK_SUBPASS_EXTERNAL;
  dependencies[0].srcStageMask = dependencies[0].dstStageMask = kDrawing;
  dependencies[0].srcAccessMask = kWrites;
  dependencies[0].dstAccessMask =
      kWrites | VK_ACCESS_COLOR_ATTACHMENT_READ_BIT | VK_ACCESS_DEPTH_STENCIL_ATTACHMENT_READ_BIT;
  // A copy to the host may follow.
  dependencies[1].dstSubpass = VK_SUBPASS_EXTERNAL;
  dependencies[1].srcStageMask = VK_PIPELINE_STAGE_COLOR_ATTACHMENT_OUTPUT_BIT;
  dependencies[1].srcAccessMask = VK_ACCESS_COLOR_ATTACHMENT_WRITE_BIT;
  dependencies[1].dstStageMask = VK_PIPELINE_STAGE_TRANSFER_BIT;
  dependencies[1].dstAccessMask = VK_ACCESS_TRANSFER_READ_BIT;

  auto info = structure<VkRenderPassCreateInfo>(VK_STRUCTURE_TYPE_RENDER_PASS_CREATE_INFO);
  info.attachmentCount = 3;
  info.pAttachments = attachments;
  info.subpassCount = 1;
  info.pSubpasses = &subpass;
  info.dependencyCount = 2;
  info.pDependencies = dependencies;
  VkRenderPass handle;
  check(vkCreateRenderPass(gpu.device, &info, nullptr, &handle), "vkCreateRenderPass");
  return {gpu.device, handle, vkDestroyRenderPass};
}

}  // namespace

Canvas::Canvas(const Gpu& gpu, VkFormat format, VkImageLayout final_layout)
    : gpu_(gpu),
      format_(format),
      depth_format_(choose_depth(gpu)),
      pass_(make_pass(gpu, format, depth_format_, final_layout)) {}

void Canvas::resize(VkExtent2D size, std::span<const VkImageView> views) {
  size_ = size;
  framebuffers_.clear();
  color_ = make_image(gpu_, {.size = size,
                             .format = format_,
                             .usage = VK_IMAGE_USAGE_COLOR_ATTACHMENT_BIT | VK_IMAGE_USAGE_TRANSIENT_ATTACHMENT_BIT,
                             .samples = kSamples});
  depth_ =
      make_image(gpu_, {.size = size,
                        .format = depth_format_,
                        .usage = VK_IMAGE_USAGE_DEPTH_STENCIL_ATTACHMENT_BIT | VK_IMAGE_USAGE_TRANSIENT_ATTACHMENT_BIT,
                        .samples = kSamples,
                        .aspect = VK_IMAGE_ASPECT_DEPTH_BIT});
  for (VkImageView view : views) {
    const VkImageView attachments[] = {color_.view, depth_.view, view};
    auto info = structure<VkFramebufferCreateInfo>(VK_STRUCTURE_TYPE_FRAMEBUFFER_CREATE_INFO);
    info.renderPass = pass_;
    info.attachmentCount = 3;
    info.pAttachments = attachments;
    info.width = size.width;
    info.height = size.height;
    info.layers = 1;
    VkFramebuffer handle;
    check(vkCreateFramebuffer(gpu_.device, &info, nullptr, &handle), "vkCreateFramebuffer");
    framebuffers_.emplace_back(gpu_.device, handle, vkDestroyFramebuffer);
  }
}

void Canvas::begin(VkCommandBuffer commands, uint32_t index) const {
  VkClearValue clear[2] = {};
  clear[1].depthStencil.depth = 1.0f;
  auto info = structure<VkRenderPassBeginInfo>(VK_STRUCTURE_TYPE_RENDER_PASS_BEGIN_INFO);
  info.renderPass = pass_;
  info.framebuffer = framebuffers_[index];
  info.renderArea.extent = size_;
  info.clearValueCount = 2;
  info.pClearValues = clear;
  vkCmdBeginRenderPass(commands, &info, VK_SUBPASS_CONTENTS_INLINE);
  const VkViewport viewport = {0, 0, static_cast<float>(size_.width), static_cast<float>(size_.height), 0, 1};
  const VkRect2D scissor = {{0, 0}, size_};
  vkCmdSetViewport(commands, 0, 1, &viewport);
  vkCmdSetScissor(commands, 0, 1, &scissor);
}

}  // namespace swarm

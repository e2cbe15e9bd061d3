// Creates buffers, images and pipelines. The functions throw Failure.
#pragma once

#include <cstring>
#include <span>

#include "gpu.hpp"

namespace swarm {

struct Buffer {
  Owned<VkDeviceMemory> memory;
  Owned<VkBuffer> handle;
  VkDeviceSize bytes = 0;
  void* mapped = nullptr;  // host-visible buffers stay mapped; they are coherent
};

enum class Where : uint8_t { Device, Host };
Buffer make_buffer(const Gpu& gpu, VkDeviceSize bytes, VkBufferUsageFlags usage, Where where = Where::Device);

struct Image {
  Owned<VkDeviceMemory> memory;
  Owned<VkImage> handle;
  Owned<VkImageView> view;
};

struct ImageInfo {
  VkExtent2D size{};
  VkFormat format = VK_FORMAT_UNDEFINED;
  VkImageUsageFlags usage = 0;
  VkSampleCountFlagBits samples = VK_SAMPLE_COUNT_1_BIT;
  VkImageAspectFlags aspect = VK_IMAGE_ASPECT_COLOR_BIT;
};
Image make_image(const Gpu& gpu, const ImageInfo& info);
Owned<VkImageView> make_view(const Gpu& gpu, VkImage image, VkFormat format, VkImageAspectFlags aspect);

// Submits the commands that `record` writes, and waits. For loading and reading back, not for frames.
void run_now(const Gpu& gpu, const std::function<void(VkCommandBuffer)>& record);

Owned<VkPipeline> make_compute(const Gpu& gpu, VkPipelineLayout layout, std::span<const uint32_t> code);

// How new colours blend with the picture below them.
enum class Blend : uint8_t { Opaque, Add, Over };

struct DrawInfo {
  std::span<const uint32_t> vertex, fragment;
  VkPrimitiveTopology topology = VK_PRIMITIVE_TOPOLOGY_TRIANGLE_STRIP;
  Blend blend = Blend::Add;
  bool depth_test = true;
};
// The pipeline has no vertex input: shaders read the crowd's buffers.
Owned<VkPipeline> make_graphics(const Gpu& gpu, VkPipelineLayout layout, VkRenderPass pass,
                                VkSampleCountFlagBits samples, const DrawInfo& info);

}  // namespace swarm

#include "picture.hpp"

#include "../drawing.hpp"
#include "barrier.hpp"

namespace swarm {
namespace {

void write_png(const unsigned char* pixels, VkExtent2D size, bool bgra, const std::string& path) {
  const samples::Surface page(
      cairo_image_surface_create(CAIRO_FORMAT_RGB24, static_cast<int>(size.width), static_cast<int>(size.height)));
  unsigned char* rows = cairo_image_surface_get_data(page.get());
  const int stride = cairo_image_surface_get_stride(page.get());
  if (rows != nullptr)
    for (uint32_t y = 0; y < size.height; ++y) {
      auto* row = reinterpret_cast<uint32_t*>(rows + static_cast<ptrdiff_t>(y) * stride);
      for (uint32_t x = 0; x < size.width; ++x) {
        const unsigned char* p = pixels + (static_cast<size_t>(y) * size.width + x) * 4;
        row[x] = static_cast<uint32_t>(p[bgra ? 2 : 0] << 16 | p[1] << 8 | p[bgra ? 0 : 2]);
      }
    }
  cairo_surface_mark_dirty(page.get());
  std::string error;
  if (!samples::write_png(page.get(), path, &error)) throw Failure(error);
}

void change_layout(VkCommandBuffer commands, const Pixels& pixels, VkImageLayout from, VkImageLayout to) {
  if (from == to) return;
  image_barrier(commands, pixels.image, from, to,
                {VK_PIPELINE_STAGE_COLOR_ATTACHMENT_OUTPUT_BIT | VK_PIPELINE_STAGE_TRANSFER_BIT,
                 VK_ACCESS_COLOR_ATTACHMENT_WRITE_BIT},
                {VK_PIPELINE_STAGE_TRANSFER_BIT, VK_ACCESS_TRANSFER_READ_BIT});
}

}  // namespace

void save_picture(const Gpu& gpu, const Pixels& pixels, const std::string& path) {
  const VkExtent2D size = pixels.size;
  const Buffer buffer =
      make_buffer(gpu, VkDeviceSize{size.width} * size.height * 4, VK_BUFFER_USAGE_TRANSFER_DST_BIT, Where::Host);
  run_now(gpu, [&](VkCommandBuffer commands) {
    change_layout(commands, pixels, pixels.layout, VK_IMAGE_LAYOUT_TRANSFER_SRC_OPTIMAL);
    VkBufferImageCopy copy{};
    copy.imageSubresource = {VK_IMAGE_ASPECT_COLOR_BIT, 0, 0, 1};
    copy.imageExtent = {size.width, size.height, 1};
    vkCmdCopyImageToBuffer(commands, pixels.image, VK_IMAGE_LAYOUT_TRANSFER_SRC_OPTIMAL, buffer.handle, 1, &copy);
    change_layout(commands, pixels, VK_IMAGE_LAYOUT_TRANSFER_SRC_OPTIMAL, pixels.layout);
    auto barrier = structure<VkMemoryBarrier>(VK_STRUCTURE_TYPE_MEMORY_BARRIER);
    barrier.srcAccessMask = VK_ACCESS_TRANSFER_WRITE_BIT;
    barrier.dstAccessMask = VK_ACCESS_HOST_READ_BIT;
    vkCmdPipelineBarrier(commands, VK_PIPELINE_STAGE_TRANSFER_BIT, VK_PIPELINE_STAGE_HOST_BIT, 0, 1, &barrier, 0,
                         nullptr, 0, nullptr);
  });
  write_png(static_cast<const unsigned char*>(buffer.mapped), size, pixels.bgra, path);
}

}  // namespace swarm

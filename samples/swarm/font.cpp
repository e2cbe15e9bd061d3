#include "font.hpp"

#include <cmath>

#include "../drawing.hpp"
#include "barrier.hpp"

namespace swarm {
namespace {

constexpr int kSide = 512;
constexpr double kSizes[kFaces] = {13.5, 11.5, 21};

// Copies rows of one byte per texel into the image, and makes it readable by shaders.
void upload(const Gpu& gpu, const Image& image, uint32_t side, const unsigned char* rows, int stride) {
  const Buffer staging = make_buffer(gpu, VkDeviceSize{side} * side, VK_BUFFER_USAGE_TRANSFER_SRC_BIT, Where::Host);
  for (uint32_t y = 0; y < side; ++y)
    std::memcpy(static_cast<unsigned char*>(staging.mapped) + y * side, rows + static_cast<ptrdiff_t>(y) * stride,
                side);
  run_now(gpu, [&](VkCommandBuffer commands) {
    constexpr VkImageLayout kFilled = VK_IMAGE_LAYOUT_TRANSFER_DST_OPTIMAL;
    image_barrier(commands, image.handle, VK_IMAGE_LAYOUT_UNDEFINED, kFilled, {VK_PIPELINE_STAGE_TOP_OF_PIPE_BIT, 0},
                  kCopyWrites);
    VkBufferImageCopy copy{};
    copy.imageSubresource = {VK_IMAGE_ASPECT_COLOR_BIT, 0, 0, 1};
    copy.imageExtent = {side, side, 1};
    vkCmdCopyBufferToImage(commands, staging.handle, image.handle, kFilled, 1, &copy);
    image_barrier(commands, image.handle, kFilled, VK_IMAGE_LAYOUT_SHADER_READ_ONLY_OPTIMAL, kCopyWrites,
                  {VK_PIPELINE_STAGE_FRAGMENT_SHADER_BIT, VK_ACCESS_SHADER_READ_BIT});
  });
}

}  // namespace

Font::Font(const Gpu& gpu, float scale) : scale_(scale) { draw(gpu); }

void Font::draw(const Gpu& gpu) {
  const uint32_t side = static_cast<uint32_t>(std::ceil(kSide * std::max(1.0f, scale_)));
  const samples::Surface page(
      cairo_image_surface_create(CAIRO_FORMAT_A8, static_cast<int>(side), static_cast<int>(side)));
  const samples::Context context(cairo_create(page.get()));
  cairo_t* c = context.get();
  double x = 1, y = 1, row = 0;
  for (int face = 0; face < kFaces; ++face) {
    samples::use_font(c, kSizes[face] * static_cast<double>(scale_), face == static_cast<int>(Face::Title));
    for (char code = kFirst; code <= kLast; ++code) {
      const char text[2] = {code, 0};
      cairo_text_extents_t e;
      cairo_text_extents(c, text, &e);
      const double left = std::floor(e.x_bearing) - 1, top = std::floor(e.y_bearing) - 1;
      const double width = std::ceil(e.x_bearing + e.width) + 1 - left;
      const double height = std::ceil(e.y_bearing + e.height) + 1 - top;
      if (x + width + 1 > side) {
        x = 1;
        y += row + 1;
        row = 0;
      }
      cairo_move_to(c, x - left, y - top);
      cairo_show_text(c, text);
      letters_.push_back({static_cast<float>(x), static_cast<float>(y), static_cast<float>(width),
                          static_cast<float>(height), static_cast<float>(left), static_cast<float>(top),
                          static_cast<float>(e.x_advance)});
      x += width + 1;
      row = std::max(row, height);
    }
  }
  cairo_surface_flush(page.get());
  if (cairo_surface_status(page.get()) != CAIRO_STATUS_SUCCESS || y + row > side)
    throw Failure("cannot draw the letters of the overlay");
  image_ = make_image(gpu, {.size = {side, side},
                            .format = VK_FORMAT_R8_UNORM,
                            .usage = VK_IMAGE_USAGE_SAMPLED_BIT | VK_IMAGE_USAGE_TRANSFER_DST_BIT});
  upload(gpu, image_, side, cairo_image_surface_get_data(page.get()), cairo_image_surface_get_stride(page.get()));
}

const Font::Letter* Font::letter(Face face, char c) const {
  if (c < kFirst || c > kLast) return nullptr;
  return &letters_[static_cast<size_t>(face) * (kLast - kFirst + 1) + static_cast<size_t>(c - kFirst)];
}

float Font::width(Face face, std::string_view text) const {
  float width = 0;
  for (const char c : text)
    if (const Letter* l = letter(face, c)) width += l->advance;
  return width;
}

float Font::write(Face face, std::string_view text, float x, float baseline, vec4 color,
                  std::vector<Box>* boxes) const {
  for (const char c : text) {
    const Letter* l = letter(face, c);
    if (l == nullptr) continue;
    if (c != ' ')  // at whole pixels, since the shader fetches texels without filtering
      boxes->push_back({vec4(std::round(x) + l->left, std::round(baseline) + l->top, l->width, l->height),
                        vec4(l->x, l->y, l->width, l->height), color, vec4(0)});
    x += l->advance;
  }
  return x;
}

}  // namespace swarm

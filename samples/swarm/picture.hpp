#pragma once

#include <cstdint>
#include <string>

#include "resources.hpp"

namespace swarm {

// An image of four sRGB bytes per pixel, that can be copied from.
struct Pixels {
  VkImage image = VK_NULL_HANDLE;
  VkExtent2D size{};
  VkImageLayout layout = VK_IMAGE_LAYOUT_TRANSFER_SRC_OPTIMAL;  // stays the same
  bool bgra = false;
};

// Writes a PNG, after everything that was submitted before. Waits. Throws Failure.
void save_picture(const Gpu& gpu, const Pixels& pixels, const std::string& path);

}  // namespace swarm

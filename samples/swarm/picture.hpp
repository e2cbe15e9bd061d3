#pragma once

#include <cstdint>
#include <string>

#include "resources.hpp"

namespace swarm {

// An image with four sRGB bytes per pixel that copy commands may read.
struct Pixels {
  VkImage image = VK_NULL_HANDLE;
  VkExtent2D size{};
  VkImageLayout layout = VK_IMAGE_LAYOUT_TRANSFER_SRC_OPTIMAL;  // before and after save_picture
  bool bgra = false;
};

// Waits for all work submitted before, and writes a PNG. Throws Failure.
void save_picture(const Gpu& gpu, const Pixels& pixels, const std::string& path);

}  // namespace swarm

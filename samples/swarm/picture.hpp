#pragma once

#include <cstdint>
#include <string>

#include "resources.hpp"

namespace swarm {

// Writes an RGBA image of sRGB bytes that lies in VK_IMAGE_LAYOUT_TRANSFER_SRC_OPTIMAL as a PNG. The GPU must be done
// with it. Throws Failure.
void save_picture(const Gpu& gpu, VkImage image, VkExtent2D size, bool bgra, const std::string& path);

}  // namespace swarm

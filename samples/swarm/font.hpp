// Letters of DejaVu Sans, drawn once by cairo into one image on the GPU.
#pragma once

#include <string_view>
#include <vector>

#include "resources.hpp"
#include "shaders/shared.h"

namespace swarm {

enum class Face : uint8_t { Text, Small, Title };
inline constexpr int kFaces = 3;

class Font {
 public:
  // Font sizes are in points; `scale` is the number of pixels per point.
  Font(const Gpu& gpu, float scale);
  VkImageView view() const { return image_.view; }
  float scale() const { return scale_; }

  float width(Face face, std::string_view text) const;
  // Adds the letters of one line that starts at (x, baseline), in pixels, and returns where it ends. Skips bytes that are not ASCII.
  float write(Face face, std::string_view text, float x, float baseline, vec4 color, std::vector<Box>* boxes) const;

 private:
  static constexpr char kFirst = ' ', kLast = '~';
  struct Letter {
    float x, y, width, height;  // in the image
    float left, top;            // from the pen
    float advance;
  };
  void draw(const Gpu& gpu);
  const Letter* letter(Face face, char c) const;

  float scale_;
  Image image_;
  std::vector<Letter> letters_;  // [face][character]
};

}  // namespace swarm

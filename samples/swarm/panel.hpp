// Lays out lines of text and boxes of the overlay. Lengths are in points, from the top left of the picture.
#pragma once

#include "font.hpp"

namespace swarm {

inline const vec4 kInk(0.80f, 0.84f, 0.95f, 0.95f), kDim(0.42f, 0.47f, 0.62f, 0.9f), kOff(0.12f, 0.13f, 0.18f, 1.0f);
inline const vec4 kGroove(0.02f, 0.025f, 0.05f, 0.9f);

class Panel {
 public:
  static constexpr float kLeft = 20, kTop = 20, kWidth = 318, kPad = 16;  // width of the only panel

  Panel(const Font& font, std::vector<Box>* boxes) : font_(font), boxes_(boxes), s_(font.scale()) {}

  void box(float x, float y, float w, float h, vec4 color, float radius, float border = 0) {
    boxes_->push_back({vec4(x, y, w, h) * s_, vec4(0), color, vec4(radius, border, 0, 0) * s_});
  }
  void write(Face face, const std::string& words, float x, float y, vec4 color) {
    font_.write(face, words, x * s_, y * s_, color, boxes_);
  }
  void write_right(Face face, const std::string& words, float x, float y, vec4 color) {
    font_.write(face, words, x * s_ - font_.width(face, words), y * s_, color, boxes_);
  }

 private:
  const Font& font_;
  std::vector<Box>* boxes_;
  float s_;
};

}  // namespace swarm

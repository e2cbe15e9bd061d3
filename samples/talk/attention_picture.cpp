// On top the sentence: each word on the colour of its mean weight, and below it the head with the largest weight on it. Then the grid: a
// row for each layer, and for each head a block of columns with the words above it. Lengths are in points.
#include "attention_picture.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>

#include "../drawing.hpp"

namespace talk {
namespace {

using samples::Color, samples::fill_rectangle, samples::text_width, samples::use, samples::use_font, samples::viridis,
    samples::write;

constexpr double kPixels = 2, kMargin = 30, kRow = 13, kGap = 14, kLabelRoom = 30;
constexpr double kMostWidth = 1560;  // wider grids wrap
constexpr double kSlant = 55;        // degrees
constexpr Color kPaper{252, 252, 250}, kInk{32, 34, 40}, kGreyInk{120, 124, 132};

// The square root makes small weights visible: a hundredth is a tenth of the scale.
Color color_of(double weight) { return viridis(std::sqrt(std::max(weight, 0.0))); }

std::string percent(double weight) {
  char text[16];
  std::snprintf(text, sizeof text, weight < 0.095 ? "%.1f %%" : "%.0f %%", 100 * weight);
  return text;
}

// The head with the largest weight on a word.
struct Fan {
  size_t layer = 0, head = 0;
  double weight = -1, mean = 0;
};
Fan fan_of(const AttentionPicture& picture, size_t word) {
  Fan fan;
  for (size_t layer = 0; layer < picture.layers; ++layer)
    for (size_t head = 0; head < picture.heads; ++head) {
      const auto weight = static_cast<double>(picture.weight(layer, head, word));
      fan.mean += weight / static_cast<double>(picture.layers * picture.heads);
      if (weight > fan.weight) fan.layer = layer, fan.head = head, fan.weight = weight;
    }
  return fan;
}

class Painter {
 public:
  Painter(const AttentionPicture& picture, cairo_t* c) : picture_(picture), c_(c) {
    const auto words = static_cast<double>(picture.words.size());
    cell_ = std::clamp(150 / words, 5.0, 16.0);
    font_ = std::min(10.0, cell_ * 0.95);
    block_ = cell_ * words;
    const double room = kMostWidth - 2 * kMargin - kLabelRoom;
    per_band_ = std::clamp<size_t>(static_cast<size_t>((room + kGap) / (block_ + kGap)), 1, picture.heads);
    per_band_ = (picture.heads + bands() - 1) / bands();  // equal numbers in all bands
    use_font(c, font_);
    double widest = 0;
    for (const std::string& word : picture.words) widest = std::max(widest, text_width(c, word));
    const double radians = kSlant * std::atan(1.0) / 45;
    rise_ = has_labels() ? widest * std::sin(radians) + font_ : 0;
    slant_ = has_labels() ? widest * std::cos(radians) : 0;
    band_ = rise_ + 22 + kRow * static_cast<double>(picture.layers) + 26;
    const double grid = kLabelRoom + static_cast<double>(per_band_) * (block_ + kGap) - kGap + slant_;
    use_font(c, 19, true);
    const double title = text_width(c, picture.title);
    use_font(c, 11.5);
    width_ = std::max({grid, title, text_width(c, picture.subtitle) + 250, 640.0}) + 2 * kMargin;
    sentence_ = lay_out_sentence();
  }

  double width() const { return width_; }
  double height() const { return grid_y() + band_ * static_cast<double>(bands()) - 10 + kMargin / 2; }

  void paint() {
    fill_rectangle(c_, 0, 0, width() + 1, height() + 1, kPaper);  // the last pixels may be cut
    use(c_, kInk);
    use_font(c_, 19, true);
    write(c_, picture_.title, kMargin, kMargin + 16);
    use_font(c_, 11.5);
    use(c_, kGreyInk);
    write(c_, picture_.subtitle, kMargin, kMargin + 36);
    legend();
    sentence();
    for (size_t head = 0; head < picture_.heads; ++head) block(head);
  }

 private:
  static constexpr double kSentenceY = kMargin + 58, kSentenceRow = 62;

  bool has_labels() const { return cell_ >= 7; }
  size_t bands() const { return (picture_.heads + per_band_ - 1) / per_band_; }
  double grid_y() const { return kSentenceY + sentence_ * kSentenceRow + 16; }

  double word_width(const std::string& word) {
    use_font(c_, 15);
    const double width = text_width(c_, word) + 14;
    return std::max(width, 62.0);
  }

  // The number of lines that the sentence takes.
  double lay_out_sentence() {
    double x = kMargin, lines = 1;
    for (const std::string& word : picture_.words) {
      const double w = word_width(word);
      if (x + w > width_ - kMargin && x > kMargin) x = kMargin, ++lines;
      places_.emplace_back(x, kSentenceY + (lines - 1) * kSentenceRow);
      x += w + 6;
    }
    return lines;
  }

  void sentence() {
    for (size_t i = 0; i < picture_.words.size(); ++i) {
      const auto [x, y] = places_[i];
      const double w = word_width(picture_.words[i]);
      const Fan fan = fan_of(picture_, i);
      const Color back = color_of(fan.mean);
      fill_rectangle(c_, x, y, w, 25, back);
      use(c_, samples::ink_on(back));
      use_font(c_, 15);
      write(c_, picture_.words[i], x + w / 2, y + 17.5, 0.5);
      use_font(c_, 9);
      use(c_, kInk);
      write(c_, "mean " + percent(fan.mean), x + w / 2, y + 37, 0.5);
      use(c_, kGreyInk);
      write(c_, std::to_string(fan.layer + 1) + "." + std::to_string(fan.head + 1) + ": " + percent(fan.weight),
            x + w / 2, y + 48, 0.5);
    }
  }

  void legend() {
    constexpr int kSteps = 96;
    const double w = 192, x = width_ - kMargin - w - 12, y = kMargin + 6;
    for (int i = 0; i < kSteps; ++i)
      fill_rectangle(c_, x + i * w / kSteps, y, w / kSteps + 0.3, 10, viridis((i + 0.5) / kSteps));
    use_font(c_, 9);
    use(c_, kGreyInk);
    for (const double weight : {0.0, 0.05, 0.2, 0.5, 1.0}) {
      const double at = x + std::sqrt(weight) * w;
      fill_rectangle(c_, at - 0.4, y + 10, 0.8, 3, kGreyInk);
      use(c_, kGreyInk);
      write(c_, std::to_string(std::lround(100 * weight)) + " %", at, y + 23, 0.5);
    }
  }

  void block(size_t head) {
    const double x = kMargin + kLabelRoom + static_cast<double>(head % per_band_) * (block_ + kGap);
    const double y = grid_y() + static_cast<double>(head / per_band_) * band_ + rise_ + 22;
    use(c_, kInk);
    use_font(c_, 11, true);
    write(c_, "head " + std::to_string(head + 1), x, y - rise_ - 8);
    if (has_labels()) {
      use_font(c_, font_);
      for (size_t i = 0; i < picture_.words.size(); ++i)
        samples::write_rising(c_, picture_.words[i], x + (static_cast<double>(i) + 0.5) * cell_ + font_ * 0.3, y - 4,
                              kSlant);
    }
    cairo_set_antialias(c_, CAIRO_ANTIALIAS_NONE);  // else the edges of cells form a visible pattern
    for (size_t layer = 0; layer < picture_.layers; ++layer)
      for (size_t i = 0; i < picture_.words.size(); ++i)
        fill_rectangle(c_, x + static_cast<double>(i) * cell_, y + static_cast<double>(layer) * kRow, cell_ - 0.5,
                       kRow - 1, color_of(static_cast<double>(picture_.weight(layer, head, i))));
    cairo_set_antialias(c_, CAIRO_ANTIALIAS_DEFAULT);
    if (head % per_band_ != 0) return;
    use_font(c_, 9);
    use(c_, kGreyInk);
    for (size_t layer = 0; layer < picture_.layers; ++layer)
      write(c_, std::to_string(layer + 1), x - 7, y + (static_cast<double>(layer) + 0.72) * kRow, 1);
    write(c_, "layer", x - 7, y - 6, 1);
  }

  const AttentionPicture& picture_;
  cairo_t* c_;
  double cell_ = 0, font_ = 0, block_ = 0, rise_ = 0, slant_ = 0, band_ = 0, width_ = 0, sentence_ = 0;
  size_t per_band_ = 1;
  std::vector<std::pair<double, double>> places_;  // height of the sentence's words
};

}  // namespace

bool draw_attention(const AttentionPicture& picture, const std::string& path, std::string* error) {
  const samples::Page ruler = samples::Page::ruler();
  const Painter plan(picture, ruler.context());
  const samples::Page page(plan.width(), plan.height(), kPixels);
  Painter(picture, page.context()).paint();
  return page.write_png(path, error);
}

}  // namespace talk

// Lengths are in points; the file has kPixels pixels per point.
#include "grid.hpp"

#include <algorithm>
#include <cmath>

#include "../drawing.hpp"
#include "text.hpp"

namespace search {
namespace {

using samples::Color, samples::text_width, samples::use, samples::use_font, samples::viridis, samples::write;

constexpr double kPixels = 1.5;
constexpr double kMargin = 26, kGap = 9, kHeading = 64;
constexpr int kLabelColumns = 14;  // longer tokens are cut
constexpr Color kPaper{252, 252, 250}, kInk{32, 34, 40}, kGrey{110, 114, 122};

struct Layout {
  size_t tokens = 0;          // number of drawn tokens
  double cell = 0, side = 0;  // the sides of a cell and of a matrix
  double label = 0;           // font size of the tokens
  double left = 0, top = 0;   // room for tokens beside and above the matrices
  double width = 0, height = 0;
  double x(int64_t head) const { return left + static_cast<double>(head) * (side + kGap); }
  double y(int64_t layer) const { return top + static_cast<double>(layer) * (side + kGap); }
};

void write_upwards(cairo_t* c, const std::string& text, double x, double y) {
  samples::write_rising(c, text, x, y, 90);
}

std::string short_token(const heed::TextAttention& attention, size_t i) {
  return tour::shorten(attention.tokens[i], kLabelColumns);
}

Layout lay_out(cairo_t* c, const heed::TextAttention& attention) {
  Layout l;
  l.tokens = std::min(attention.tokens.size(), kMaxPictureTokens);
  l.cell = std::clamp(130.0 / static_cast<double>(l.tokens), 5.0, 16.0);
  l.side = l.cell * static_cast<double>(l.tokens);
  l.label = std::clamp(l.cell * 0.85, 5.0, 10.0);
  use_font(c, l.label);
  double widest = 0;
  for (size_t i = 0; i < l.tokens; ++i) widest = std::max(widest, text_width(c, short_token(attention, i)));
  l.left = kMargin + 26 + widest + 8;
  l.top = kMargin + kHeading + 18 + widest + 8;
  l.width = std::max(l.x(attention.heads) - kGap + kMargin, 560.0);
  l.height = l.y(attention.layers) - kGap + kMargin;
  return l;
}

// Draws the weights of one head. A row shows the attention of one token to each token.
void matrix(cairo_t* c, const heed::TextAttention& attention, const Layout& l, int64_t layer, int64_t head) {
  const size_t all = attention.tokens.size();
  const float* weights = attention.weights.data() + static_cast<size_t>(layer * attention.heads + head) * all * all;
  const double x = l.x(head), y = l.y(layer);
  cairo_set_antialias(c, CAIRO_ANTIALIAS_NONE);
  for (size_t row = 0; row < l.tokens; ++row)
    for (size_t column = 0; column < l.tokens; ++column) {
      const double left = x + static_cast<double>(column) * l.cell, top = y + static_cast<double>(row) * l.cell;
      samples::fill_rectangle(c, left, top, l.cell, l.cell, viridis(static_cast<double>(weights[row * all + column])));
    }
  cairo_set_antialias(c, CAIRO_ANTIALIAS_DEFAULT);
}

void tokens(cairo_t* c, const heed::TextAttention& attention, const Layout& l) {
  use_font(c, l.label);
  use(c, kInk);
  for (size_t i = 0; i < l.tokens; ++i) {
    const std::string token = short_token(attention, i);
    const double middle = (static_cast<double>(i) + 0.5) * l.cell + l.label * 0.35;
    for (int64_t layer = 0; layer < attention.layers; ++layer) write(c, token, l.left - 6, l.y(layer) + middle, 1);
    for (int64_t head = 0; head < attention.heads; ++head) write_upwards(c, token, l.x(head) + middle, l.top - 6);
  }
}

void headings(cairo_t* c, const heed::TextAttention& attention, const Layout& l, const std::string& title) {
  use(c, kInk);
  use_font(c, 17, true);
  write(c, tour::shorten(title, 90), kMargin, kMargin + 14);
  use_font(c, 10.5);
  use(c, kGrey);
  write(c, "each row of a matrix is one token: how its attention is spread over the tokens above", kMargin,
        kMargin + 33);
  if (l.tokens < attention.tokens.size())
    write(c, "the first " + std::to_string(l.tokens) + " of " + std::to_string(attention.tokens.size()) + " tokens",
          kMargin, kMargin + 48);
  const double baseline = kMargin + kHeading + 8;
  for (int64_t head = 0; head < attention.heads; ++head)
    write(c, "head " + std::to_string(head + 1), l.x(head) + l.side / 2, baseline, 0.5);
  for (int64_t layer = 0; layer < attention.layers; ++layer)
    write_upwards(c, "layer " + std::to_string(layer + 1), kMargin + 8, l.y(layer) + l.side / 2 + 16);
}

void color_bar(cairo_t* c, const Layout& l) {
  constexpr int kSteps = 100;
  const double x = l.width - kMargin - 130, y = kMargin + 4;
  for (int i = 0; i < kSteps; ++i) samples::fill_rectangle(c, x + i, y, 1.3, 10, viridis((i + 0.5) / kSteps));
  use_font(c, 10);
  use(c, kGrey);
  write(c, "0", x - 5, y + 9, 1);
  write(c, "1", x + kSteps + 6, y + 9);
}

}  // namespace

bool write_attention(const heed::TextAttention& attention, const std::string& title, const std::string& path,
                     std::string* error) {
  const Layout layout = lay_out(samples::Page::ruler().context(), attention);
  const samples::Page page(layout.width, layout.height, kPixels);
  cairo_t* c = page.context();
  use(c, kPaper);
  cairo_paint(c);
  headings(c, attention, layout, title);
  if (layout.width > 700) color_bar(c, layout);
  tokens(c, attention, layout);
  for (int64_t layer = 0; layer < attention.layers; ++layer)
    for (int64_t head = 0; head < attention.heads; ++head) matrix(c, attention, layout, layer, head);
  return page.write_png(path, error);
}

}  // namespace search

// Draws the PNG: the mean of the heads, large and with words on both axes, and each head below. Lengths are in points; the file has kPixels
// pixels per point.
#include <algorithm>
#include <cmath>
#include <cstdio>

#include "../drawing.hpp"
#include "picture.hpp"
#include "text.hpp"

namespace tour {
namespace {

using samples::Color, samples::fill_rectangle, samples::text_width, samples::use, samples::use_font, samples::viridis,
    samples::write;

constexpr double kPixels = 2;
constexpr double kMargin = 30;
constexpr double kGap = 18;
constexpr int kHeadsPerRow = 4;
constexpr int kLabelColumns = 18;  // longer words are cut
constexpr double kAxisSize = 11;   // font of labels on the axes
constexpr const char* kQueries = "queries: the words that look";
constexpr Color kPaper{252, 252, 250}, kInk{32, 34, 40}, kGrey{120, 124, 132}, kHidden{236, 237, 238};

std::string number(double value) {
  char text[16];
  std::snprintf(text, sizeof text, "%.2f", value);
  return text;
}

struct HeatmapLayout {
  double cell = 0;      // side of a cell
  double label = 0;     // font size of the words
  double x = 0, y = 0;  // the corner of the large matrix
  double w = 0, h = 0;
  double room = 0;   // height of the matrix, or of the text beside it if that is taller, as with one word
  double slant = 0;  // how far the last column's label extends beyond the right edge
  double small_cell = 0, heads_y = 0, head_pitch = 0;
  double width = 0, height = 0;
  double end = 1;  // of the colour scale
  int rows = 0, columns = 0;
};

double widest(cairo_t* c, const std::vector<std::string>& words) {
  double width = 0;
  for (const std::string& word : words) width = std::max(width, text_width(c, shorten(word, kLabelColumns)));
  return width;
}

HeatmapLayout lay_out(cairo_t* c, const Picture& picture) {
  HeatmapLayout l;
  l.rows = static_cast<int>(picture.rows.size());
  l.columns = static_cast<int>(picture.columns.size());
  const int most = std::max(l.rows, l.columns);
  l.cell = std::clamp(460.0 / most, 8.0, 58.0);
  l.label = std::clamp(l.cell * 0.72, 6.5, 14.0);
  l.end = scale_end(picture);
  use_font(c, l.label);
  const double rotated = widest(c, picture.columns) * std::sqrt(0.5);
  l.w = l.cell * l.columns;
  l.h = l.cell * l.rows;
  l.x = kMargin + widest(c, picture.rows) + 32;
  l.y = kMargin + 62 + rotated + l.label;
  l.slant = std::max(0.0, rotated - l.cell / 2);
  const double body = l.x + l.w + std::max(l.slant, 74.0) + kMargin;
  use_font(c, 19, true);
  const double title = text_width(c, picture.title) + 2 * kMargin;
  use_font(c, 11.5);
  l.width = std::max({body, title, text_width(c, picture.subtitle) + 2 * kMargin, 420.0});
  use_font(c, kAxisSize);
  l.room = std::max(l.h, text_width(c, kQueries));
  l.heads_y = l.y + l.room + 62;
  const int per_row = kHeadsPerRow;
  l.small_cell = (l.width - 2 * kMargin - (per_row - 1) * kGap) / per_row / l.columns;
  l.small_cell = std::min({l.small_cell, std::max(170.0, l.w / per_row) / l.rows, l.cell});
  l.head_pitch = l.small_cell * l.rows + 34;
  const auto head_rows = static_cast<double>((picture.heads.size() + kHeadsPerRow - 1) / kHeadsPerRow);
  l.height = picture.heads.empty() ? l.y + l.room + 44 : l.heads_y + head_rows * l.head_pitch - 8 + kMargin / 2;
  return l;
}

// Hidden cells are grey with a stroke through them, so that they differ from a weight of zero.
void hidden_cell(cairo_t* c, double x, double y, double side) {
  fill_rectangle(c, x, y, side, side, kHidden);
  if (side < 12) return;
  cairo_set_line_width(c, 0.6);
  cairo_set_source_rgb(c, 0.80, 0.81, 0.82);
  cairo_move_to(c, x, y + side);
  cairo_line_to(c, x + side, y);
  cairo_stroke(c);
}

void matrix(cairo_t* c, const Picture& picture, const std::vector<float>& weights, double x, double y, double side,
            double end) {
  const double seam = side >= 12 ? 1.0 : 0.0;
  const size_t columns = picture.columns.size();
  cairo_set_antialias(c, CAIRO_ANTIALIAS_NONE);  // else the edges of small cells form a visible pattern
  for (size_t row = 0; row < picture.rows.size(); ++row)
    for (size_t column = 0; column < columns; ++column) {
      const double left = x + static_cast<double>(column) * side, top = y + static_cast<double>(row) * side;
      if (picture.hidden(row, column))
        hidden_cell(c, left, top, side - seam);
      else
        fill_rectangle(c, left, top, side - seam, side - seam,
                       viridis(static_cast<double>(weights[row * columns + column]) / end));
    }
  cairo_set_antialias(c, CAIRO_ANTIALIAS_DEFAULT);
}

void values(cairo_t* c, const Picture& picture, const HeatmapLayout& l) {
  if (l.cell < 30) return;
  use_font(c, std::min(l.cell * 0.27, 12.0));
  for (size_t row = 0; row < picture.rows.size(); ++row)
    for (size_t column = 0; column < picture.columns.size(); ++column) {
      if (picture.hidden(row, column)) continue;
      const auto weight = static_cast<double>(picture.weight(row, column));
      use(c, samples::ink_on(viridis(weight / l.end)));
      write(c, number(weight), l.x + (static_cast<double>(column) + 0.5) * l.cell - 0.5,
            l.y + (static_cast<double>(row) + 0.5) * l.cell + std::min(l.cell * 0.27, 12.0) * 0.36, 0.5);
    }
}

void labels(cairo_t* c, const Picture& picture, const HeatmapLayout& l) {
  use_font(c, l.label);
  use(c, kInk);
  for (size_t row = 0; row < picture.rows.size(); ++row)
    write(c, shorten(picture.rows[row], kLabelColumns), l.x - 7,
          l.y + (static_cast<double>(row) + 0.5) * l.cell + l.label * 0.35, 1);
  for (size_t column = 0; column < picture.columns.size(); ++column)
    samples::write_rising(c, shorten(picture.columns[column], kLabelColumns),
                          l.x + (static_cast<double>(column) + 0.5) * l.cell + l.label * 0.2, l.y - 7, 45);
  use_font(c, kAxisSize);
  use(c, kGrey);
  write(c, "keys: the words looked at", l.x, l.y + l.h + 18);
  samples::write_rising(c, kQueries, kMargin + 4, l.y + l.room, 90);
}

void color_bar(cairo_t* c, const Picture& picture, const HeatmapLayout& l) {
  constexpr int kSteps = 128;
  const double x = l.x + l.w + 20, w = 13, h = std::min(l.h, 260.0), y = l.y + (l.h - h);
  for (int i = 0; i < kSteps; ++i)
    fill_rectangle(c, x, y + h - (i + 1) * h / kSteps, w, h / kSteps + 0.3, viridis((i + 0.5) / kSteps));
  use_font(c, 10.5);
  use(c, kGrey);
  for (int tick = 0; tick <= 2; ++tick) {
    const double at = y + h - tick * h / 2;
    fill_rectangle(c, x + w, at - 0.4, 4, 0.8, kGrey);
    const bool above = tick == 2 && exceeds(picture, l.end);
    write(c, (above ? "≥ " : "") + number(l.end * tick / 2), x + w + 7, at + 3.8);
  }
}

void heads(cairo_t* c, const Picture& picture, const HeatmapLayout& l) {
  for (size_t i = 0; i < picture.heads.size(); ++i) {
    const double pitch = (l.width - 2 * kMargin + kGap) / kHeadsPerRow;
    const double x = kMargin + static_cast<double>(i % kHeadsPerRow) * pitch;
    const double y = l.heads_y + static_cast<double>(i / kHeadsPerRow) * l.head_pitch;
    use_font(c, 10.5);
    use(c, kInk);
    write(c, picture.heads[i].title, x, y - 8);
    matrix(c, picture, picture.heads[i].weights, x, y, l.small_cell, l.end);
  }
}

void draw(cairo_t* c, const Picture& picture, const HeatmapLayout& l) {
  use(c, kPaper);
  cairo_paint(c);
  use(c, kInk);
  use_font(c, 19, true);
  write(c, picture.title, kMargin, kMargin + 14);
  use_font(c, 11.5);
  use(c, kGrey);
  write(c, picture.subtitle, kMargin, kMargin + 34);
  matrix(c, picture, picture.main.weights, l.x, l.y, l.cell, l.end);
  values(c, picture, l);
  labels(c, picture, l);
  color_bar(c, picture, l);
  heads(c, picture, l);
}

}  // namespace

bool write_png(const Picture& picture, const std::string& path, std::string* error) {
  const HeatmapLayout layout = lay_out(samples::Page::ruler().context(), picture);
  const samples::Page page(layout.width, layout.height, kPixels);
  draw(page.context(), picture, layout);
  return page.write_png(path, error);
}

}  // namespace tour

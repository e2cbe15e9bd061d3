// The PNG: the mean over the heads large, with words on both axes, each head small below it. Lengths are in
// points; the file has kPixels pixels per point.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <memory>

#include <cairo.h>

#include "picture.hpp"
#include "text.hpp"

namespace tour {
namespace {

constexpr double kPixels = 2;
constexpr double kMargin = 30;
constexpr double kGap = 18;
constexpr int kHeadsPerRow = 4;
constexpr int kLabelColumns = 18;  // longer words are cut
constexpr Color kPaper{252, 252, 250}, kInk{32, 34, 40}, kGrey{120, 124, 132}, kHidden{236, 237, 238};

struct Drop {
  void operator()(cairo_t* context) const { cairo_destroy(context); }
  void operator()(cairo_surface_t* surface) const { cairo_surface_destroy(surface); }
};
using Context = std::unique_ptr<cairo_t, Drop>;
using Surface = std::unique_ptr<cairo_surface_t, Drop>;

void use(cairo_t* c, Color color) { cairo_set_source_rgb(c, color.r / 255.0, color.g / 255.0, color.b / 255.0); }

void font(cairo_t* c, double size, bool bold = false) {
  cairo_select_font_face(c, "DejaVu Sans", CAIRO_FONT_SLANT_NORMAL,
                         bold ? CAIRO_FONT_WEIGHT_BOLD : CAIRO_FONT_WEIGHT_NORMAL);
  cairo_set_font_size(c, size);
}

double text_width(cairo_t* c, const std::string& text) {
  cairo_text_extents_t extents;
  cairo_text_extents(c, text.c_str(), &extents);
  return extents.x_advance;
}

// align: 0 starts at x, 0.5 is centred on it, 1 ends at it. y is the baseline.
void write(cairo_t* c, const std::string& text, double x, double y, double align = 0) {
  cairo_move_to(c, align == 0 ? x : x - align * text_width(c, text), y);
  cairo_show_text(c, text.c_str());
}

std::string number(double value) {
  char text[16];
  std::snprintf(text, sizeof text, "%.2f", value);
  return text;
}

struct Layout {
  double cell = 0;      // side of a cell
  double label = 0;     // font size of the words
  double x = 0, y = 0;  // of the large matrix
  double w = 0, h = 0;
  double slant = 0;  // how far the last column's label reaches over the right edge
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

Layout lay_out(cairo_t* c, const Picture& picture) {
  Layout l;
  l.rows = static_cast<int>(picture.rows.size());
  l.columns = static_cast<int>(picture.columns.size());
  const int most = std::max(l.rows, l.columns);
  l.cell = std::clamp(460.0 / most, 8.0, 58.0);
  l.label = std::clamp(l.cell * 0.72, 6.5, 14.0);
  l.end = scale_end(picture);
  font(c, l.label);
  const double rotated = widest(c, picture.columns) * std::sqrt(0.5);
  l.w = l.cell * l.columns;
  l.h = l.cell * l.rows;
  l.x = kMargin + widest(c, picture.rows) + 32;
  l.y = kMargin + 62 + rotated + l.label;
  l.slant = std::max(0.0, rotated - l.cell / 2);
  const double body = l.x + l.w + std::max(l.slant, 74.0) + kMargin;
  font(c, 19, true);
  const double title = text_width(c, picture.title) + 2 * kMargin;
  font(c, 11.5);
  l.width = std::max({body, title, text_width(c, picture.subtitle) + 2 * kMargin, 420.0});
  l.heads_y = l.y + l.h + 62;
  const int per_row = kHeadsPerRow;
  l.small_cell = (l.width - 2 * kMargin - (per_row - 1) * kGap) / per_row / l.columns;
  l.small_cell = std::min(l.small_cell, std::max(170.0, l.w / per_row) / l.rows);
  l.head_pitch = l.small_cell * l.rows + 34;
  const auto head_rows = static_cast<double>((picture.heads.size() + kHeadsPerRow - 1) / kHeadsPerRow);
  l.height = picture.heads.empty() ? l.y + l.h + 44 : l.heads_y + head_rows * l.head_pitch - 8 + kMargin / 2;
  return l;
}

void rectangle(cairo_t* c, double x, double y, double w, double h, Color color) {
  use(c, color);
  cairo_rectangle(c, x, y, w, h);
  cairo_fill(c);
}

// Hidden cells are grey with a stroke through them, so that they differ from a weight of zero.
void hidden_cell(cairo_t* c, double x, double y, double side) {
  rectangle(c, x, y, side, side, kHidden);
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
  cairo_set_antialias(c, CAIRO_ANTIALIAS_NONE);  // else the edges of small cells form a pattern of their own
  for (size_t row = 0; row < picture.rows.size(); ++row)
    for (size_t column = 0; column < columns; ++column) {
      const double left = x + static_cast<double>(column) * side, top = y + static_cast<double>(row) * side;
      if (picture.hidden(row, column))
        hidden_cell(c, left, top, side - seam);
      else
        rectangle(c, left, top, side - seam, side - seam,
                  viridis(static_cast<double>(weights[row * columns + column]) / end));
    }
  cairo_set_antialias(c, CAIRO_ANTIALIAS_DEFAULT);
}

void values(cairo_t* c, const Picture& picture, const Layout& l) {
  if (l.cell < 30) return;
  font(c, std::min(l.cell * 0.27, 12.0));
  for (size_t row = 0; row < picture.rows.size(); ++row)
    for (size_t column = 0; column < picture.columns.size(); ++column) {
      if (picture.hidden(row, column)) continue;
      const auto weight = static_cast<double>(picture.weight(row, column));
      use(c, ink_on(viridis(weight / l.end)));
      write(c, number(weight), l.x + (static_cast<double>(column) + 0.5) * l.cell - 0.5,
            l.y + (static_cast<double>(row) + 0.5) * l.cell + std::min(l.cell * 0.27, 12.0) * 0.36, 0.5);
    }
}

void labels(cairo_t* c, const Picture& picture, const Layout& l) {
  font(c, l.label);
  use(c, kInk);
  for (size_t row = 0; row < picture.rows.size(); ++row)
    write(c, shorten(picture.rows[row], kLabelColumns), l.x - 7,
          l.y + (static_cast<double>(row) + 0.5) * l.cell + l.label * 0.35, 1);
  for (size_t column = 0; column < picture.columns.size(); ++column) {
    cairo_save(c);
    cairo_translate(c, l.x + (static_cast<double>(column) + 0.5) * l.cell + l.label * 0.2, l.y - 7);
    cairo_rotate(c, -std::atan(1.0));
    write(c, shorten(picture.columns[column], kLabelColumns), 0, 0);
    cairo_restore(c);
  }
  font(c, 11);
  use(c, kGrey);
  write(c, "keys: the words looked at", l.x, l.y + l.h + 18);
  cairo_save(c);
  cairo_translate(c, kMargin + 4, l.y + l.h);
  cairo_rotate(c, -2 * std::atan(1.0));
  write(c, "queries: the words that look", 0, 0);
  cairo_restore(c);
}

void color_bar(cairo_t* c, const Picture& picture, const Layout& l) {
  constexpr int kSteps = 128;
  const double x = l.x + l.w + 20, w = 13, h = std::min(l.h, 260.0), y = l.y + (l.h - h);
  for (int i = 0; i < kSteps; ++i)
    rectangle(c, x, y + h - (i + 1) * h / kSteps, w, h / kSteps + 0.3, viridis((i + 0.5) / kSteps));
  font(c, 10.5);
  use(c, kGrey);
  for (int tick = 0; tick <= 2; ++tick) {
    const double at = y + h - tick * h / 2;
    rectangle(c, x + w, at - 0.4, 4, 0.8, kGrey);
    const bool above = tick == 2 && exceeds(picture, l.end);
    write(c, (above ? "≥ " : "") + number(l.end * tick / 2), x + w + 7, at + 3.8);
  }
}

void heads(cairo_t* c, const Picture& picture, const Layout& l) {
  for (size_t i = 0; i < picture.heads.size(); ++i) {
    const double pitch = (l.width - 2 * kMargin + kGap) / kHeadsPerRow;
    const double x = kMargin + static_cast<double>(i % kHeadsPerRow) * pitch;
    const double y = l.heads_y + static_cast<double>(i / kHeadsPerRow) * l.head_pitch;
    font(c, 10.5);
    use(c, kInk);
    write(c, picture.heads[i].title, x, y - 8);
    matrix(c, picture, picture.heads[i].weights, x, y, l.small_cell, l.end);
  }
}

void draw(cairo_t* c, const Picture& picture, const Layout& l) {
  use(c, kPaper);
  cairo_paint(c);
  use(c, kInk);
  font(c, 19, true);
  write(c, picture.title, kMargin, kMargin + 14);
  font(c, 11.5);
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
  // Text has to be measured before the size of the page is known.
  const Surface ruler_page(cairo_image_surface_create(CAIRO_FORMAT_A8, 1, 1));
  const Context ruler(cairo_create(ruler_page.get()));
  const Layout layout = lay_out(ruler.get(), picture);

  const Surface page(cairo_image_surface_create(CAIRO_FORMAT_RGB24, static_cast<int>(std::ceil(layout.width * kPixels)),
                                                static_cast<int>(std::ceil(layout.height * kPixels))));
  const Context context(cairo_create(page.get()));
  cairo_scale(context.get(), kPixels, kPixels);
  draw(context.get(), picture, layout);
  cairo_status_t status = cairo_status(context.get());
  if (status == CAIRO_STATUS_SUCCESS) status = cairo_surface_write_to_png(page.get(), path.c_str());
  if (status == CAIRO_STATUS_SUCCESS) return true;
  *error = "cannot write " + path + ": " + cairo_status_to_string(status);
  return false;
}

}  // namespace tour

#include "drawing.hpp"

#include <cmath>

namespace samples {
namespace {

bool written(cairo_status_t status, const std::string& path, std::string* error) {
  if (status != CAIRO_STATUS_SUCCESS) *error = "cannot write " + path + ": " + cairo_status_to_string(status);
  return status == CAIRO_STATUS_SUCCESS;
}

}  // namespace

Page::Page(double width, double height, double pixels)
    : surface_(cairo_image_surface_create(CAIRO_FORMAT_RGB24, static_cast<int>(std::ceil(width * pixels)),
                                          static_cast<int>(std::ceil(height * pixels)))),
      context_(cairo_create(surface_.get())) {
  cairo_scale(context_.get(), pixels, pixels);
}

bool Page::write_png(const std::string& path, std::string* error) const {
  const cairo_status_t drawn = cairo_status(context_.get());  // of the first call that failed
  return drawn == CAIRO_STATUS_SUCCESS ? samples::write_png(surface_.get(), path, error) : written(drawn, path, error);
}

void use(cairo_t* c, Color color) { cairo_set_source_rgb(c, color.r / 255.0, color.g / 255.0, color.b / 255.0); }

void use_font(cairo_t* c, double size, bool bold) {
  cairo_select_font_face(c, "DejaVu Sans", CAIRO_FONT_SLANT_NORMAL,
                         bold ? CAIRO_FONT_WEIGHT_BOLD : CAIRO_FONT_WEIGHT_NORMAL);
  cairo_set_font_size(c, size);
}

double text_width(cairo_t* c, const std::string& text) {
  cairo_text_extents_t extents;
  cairo_text_extents(c, text.c_str(), &extents);
  return extents.x_advance;
}

void write(cairo_t* c, const std::string& text, double x, double y, double align) {
  cairo_move_to(c, align == 0 ? x : x - align * text_width(c, text), y);
  cairo_show_text(c, text.c_str());
}

void write_rising(cairo_t* c, const std::string& text, double x, double y, double degrees) {
  cairo_save(c);
  cairo_translate(c, x, y);
  cairo_rotate(c, -degrees * std::atan(1.0) / 45);
  write(c, text, 0, 0);
  cairo_restore(c);
}

void fill_rectangle(cairo_t* c, double x, double y, double width, double height, Color color) {
  use(c, color);
  cairo_rectangle(c, x, y, width, height);
  cairo_fill(c);
}

bool write_png(cairo_surface_t* surface, const std::string& path, std::string* error) {
  return written(cairo_surface_write_to_png(surface, path.c_str()), path, error);
}

}  // namespace samples

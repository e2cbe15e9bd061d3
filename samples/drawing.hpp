// Pages, text and PNG files, drawn by cairo.
#pragma once

#include <cairo.h>

#include <memory>
#include <string>

#include "color.hpp"

namespace samples {

struct DropCairo {
  void operator()(cairo_t* context) const { cairo_destroy(context); }
  void operator()(cairo_surface_t* surface) const { cairo_surface_destroy(surface); }
};
using Context = std::unique_ptr<cairo_t, DropCairo>;
using Surface = std::unique_ptr<cairo_surface_t, DropCairo>;

// A page with a drawing context, `pixels` per unit of length.
class Page {
 public:
  Page(double width, double height, double pixels);
  // A page without room, to measure text before the real page's size is known.
  static Page ruler() { return Page(0, 0, 1); }

  cairo_t* context() const { return context_.get(); }
  // Returns false with a sentence in *error if it fails.
  bool write_png(const std::string& path, std::string* error) const;

 private:
  Surface surface_;
  Context context_;
};

void use(cairo_t* c, Color color);
void use_font(cairo_t* c, double size, bool bold = false);
double text_width(cairo_t* c, const std::string& text);
// `y` is the baseline. The text starts at `x` with an `align` of 0, is centred on it with 0.5 and ends at it with 1.
void write(cairo_t* c, const std::string& text, double x, double y, double align = 0);
// The baseline starts at (x, y) and rises by `degrees`.
void write_rising(cairo_t* c, const std::string& text, double x, double y, double degrees);
void fill_rectangle(cairo_t* c, double x, double y, double width, double height, Color color);

// Returns false with a sentence in *error if it fails.
bool write_png(cairo_surface_t* surface, const std::string& path, std::string* error);

}  // namespace samples

// What is drawn: one attention matrix, in the terminal and as a PNG.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace tour {

struct Color {
  uint8_t r = 0, g = 0, b = 0;
};

// viridis (Smith and van der Walt 2015): even steps of lightness, readable with colour blindness. 0 <= t <= 1.
Color viridis(double t);
// Black or white, whichever reads better on `background`.
Color ink_on(Color background);

struct Panel {
  std::string title;
  std::vector<float> weights;  // [rows, columns]
};

struct Picture {
  std::string title;
  std::string subtitle;
  std::vector<std::string> rows;     // the words that ask (queries)
  std::vector<std::string> columns;  // the words that are asked (keys)
  Panel main;
  std::vector<Panel> heads;
  bool causal = false;  // column j is hidden from row i when j > i

  bool hidden(size_t row, size_t column) const { return causal && column > row; }
  float weight(size_t row, size_t column) const { return main.weights[row * columns.size() + column]; }
};

// Where the colour scale of a picture ends: at its largest weight, or with many words at the weight that one cell
// in a hundred exceeds, since a few cells near 1 would leave all others dark. Rounded up to the next 0.05.
double scale_end(const Picture& picture);
// Some cell lies above the end of the scale.
bool exceeds(const Picture& picture, double end);

// False: *error says why.
bool write_png(const Picture& picture, const std::string& path, std::string* error);

enum class ColorMode : uint8_t { None, Palette256, TrueColor };

struct Terminal {
  ColorMode color = ColorMode::None;
  int columns = 80;
  bool pictures = true;  // PNGs are drawn, too
};
enum class ColorChoice : uint8_t { Auto, Always, Never };
// Looks at standard output and the environment (NO_COLOR, TERM, COLORTERM, COLUMNS).
Terminal look_at_terminal(ColorChoice choice);

std::string draw_table(const Picture& picture, const Terminal& terminal);

}  // namespace tour

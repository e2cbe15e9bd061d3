// An attention matrix with its words, drawn in the terminal and as a PNG.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace tour {

struct Panel {
  std::string title;
  std::vector<float> weights;  // [rows, columns]
};

struct Picture {
  std::string title;
  std::string subtitle;
  std::vector<std::string> rows;     // the words of the queries
  std::vector<std::string> columns;  // the words of the keys
  Panel main;
  std::vector<Panel> heads;
  bool causal = false;  // column j is hidden from row i when j > i

  bool hidden(size_t row, size_t column) const { return causal && column > row; }
  float weight(size_t row, size_t column) const { return main.weights[row * columns.size() + column]; }
};

// The end of a picture's colour scale: its largest weight, rounded up to the next 0.05. With many words it is the weight that one cell in a
// hundred exceeds, since a few cells near 1 would leave all others dark.
double scale_end(const Picture& picture);
// Whether some cell's weight exceeds the end of the scale.
bool exceeds(const Picture& picture, double end);

// Returns false with the reason in *error if it fails.
bool write_png(const Picture& picture, const std::string& path, std::string* error);

enum class ColorMode : uint8_t { None, Palette256, TrueColor };

struct Terminal {
  ColorMode color = ColorMode::None;
  int columns = 80;
  bool pictures = true;  // PNGs are drawn as well
};
enum class ColorChoice : uint8_t { Auto, Always, Never };
// Reads the properties of standard output and the environment (NO_COLOR, TERM, COLORTERM, COLUMNS).
Terminal look_at_terminal(ColorChoice choice);

std::string draw_table(const Picture& picture, const Terminal& terminal);

}  // namespace tour

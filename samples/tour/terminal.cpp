#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <string_view>

#ifdef _WIN32
#include <io.h>
#else
#include <sys/ioctl.h>
#include <unistd.h>
#endif

#include "../color.hpp"
#include "picture.hpp"
#include "text.hpp"

namespace tour {
namespace {

using samples::Color, samples::viridis;

bool is_terminal() {
#ifdef _WIN32
  return _isatty(1) != 0;
#else
  return isatty(1) != 0;
#endif
}

int terminal_columns() {
#ifndef _WIN32
  winsize size{};
  if (ioctl(1, TIOCGWINSZ, &size) == 0 && size.ws_col > 0) return size.ws_col;
#endif
  const char* text = std::getenv("COLUMNS");
  const int columns = text != nullptr ? std::atoi(text) : 0;
  return columns > 0 ? columns : 80;
}

// The nearest colour of the 6 x 6 x 6 cube of a 256-colour terminal.
int palette_index(Color c) {
  const auto level = [](int v) { return v < 48 ? 0 : v < 115 ? 1 : (v - 35) / 40; };
  return 16 + 36 * level(c.r) + 6 * level(c.g) + level(c.b);
}

// "\x1b[48;...m\x1b[38;...m" for a cell, or nothing.
std::string paint(Color background, ColorMode mode) {
  const Color ink = samples::ink_on(background);
  char text[64] = "";
  if (mode == ColorMode::TrueColor)
    std::snprintf(text, sizeof text, "\x1b[48;2;%d;%d;%d;38;2;%d;%d;%dm", background.r, background.g, background.b,
                  ink.r, ink.g, ink.b);
  else if (mode == ColorMode::Palette256)
    std::snprintf(text, sizeof text, "\x1b[48;5;%d;38;5;%dm", palette_index(background), palette_index(ink));
  return text;
}

std::string spaces(int count) { return std::string(static_cast<size_t>(std::max(count, 0)), ' '); }
std::string left(std::string_view text, int width) {
  const std::string cut = shorten(text, width);
  return cut + spaces(width - display_width(cut));
}
std::string right(std::string_view text, int width) {
  const std::string cut = shorten(text, width);
  return spaces(width - display_width(cut)) + cut;
}
std::string centered(std::string_view text, int width) {
  const std::string cut = shorten(text, width);
  const int before = (width - display_width(cut)) / 2;
  return spaces(before) + left(cut, width - before);
}

struct Layout {
  int label = 0;         // width of the row labels
  int cell = 0;          // width of one cell
  size_t rows = 0;       // number of rows shown
  size_t columns = 0;    // number of columns shown
  bool numbers = false;  // cells too narrow for words and values: columns are numbered
};

int widest(const std::vector<std::string>& words, int least, int most) {
  int width = least;
  for (const std::string& word : words) width = std::max(width, display_width(word));
  return std::min(width, most);
}

Layout lay_out(const Picture& picture, const Terminal& terminal) {
  constexpr int kLeastValueCell = 5, kNarrowCell = 3;
  Layout layout;
  layout.label = widest(picture.rows, 4, 14);
  layout.rows = std::min<size_t>(picture.rows.size(), 40);
  const int room = terminal.columns - layout.label - 4;
  const int count = static_cast<int>(picture.columns.size());
  layout.columns = picture.columns.size();
  layout.cell = std::min(room / std::max(count, 1), widest(picture.columns, kLeastValueCell, 9) + 1);
  if (layout.cell < kLeastValueCell) {
    layout.numbers = true;
    layout.cell = kNarrowCell;
    layout.columns = std::min(layout.columns, static_cast<size_t>(std::max(room / kNarrowCell, 1)));
    layout.label = std::min(layout.label + 4, 18);  // "12. word"
  }
  return layout;
}

// A character for each weight, from 0 to the scale's end, for terminals without colours and cells too narrow for numbers.
constexpr std::string_view kRamp = " .:-=+*#%@";

std::string cell_text(const Picture& picture, const Layout& layout, ColorMode mode, size_t row, size_t column,
                      double end) {
  if (picture.hidden(row, column)) return centered("·", layout.cell);
  const double weight = static_cast<double>(picture.weight(row, column));
  const Color color = viridis(weight / end);
  char value[16];
  std::snprintf(value, sizeof value, "%.2f", weight);
  if (mode != ColorMode::None) {
    const std::string text = layout.numbers ? spaces(layout.cell) : centered(value, layout.cell);
    return paint(color, mode) + text + "\x1b[0m";
  }
  if (!layout.numbers) return centered(value, layout.cell);
  const auto step = static_cast<size_t>(std::clamp(weight / end, 0.0, 1.0) * 9.999);
  std::string text(3, kRamp[std::min(step, kRamp.size() - 1)]);
  text[0] = ' ';
  return text;
}

std::string row_label(const Picture& picture, const Layout& layout, size_t row) {
  if (!layout.numbers) return right(picture.rows[row], layout.label);
  return right(std::to_string(row + 1) + " " + shorten(picture.rows[row], layout.label - 4), layout.label);
}

std::string header(const Picture& picture, const Layout& layout) {
  std::string line = spaces(layout.label + 3);
  for (size_t column = 0; column < layout.columns; ++column)
    line += layout.numbers ? right(std::to_string(column + 1), layout.cell)
                           : centered(shorten(picture.columns[column], layout.cell - 1), layout.cell);
  return line;
}

std::string last_of_scale(const Picture& picture, double end) {
  char text[24];
  std::snprintf(text, sizeof text, "%s%.2f", exceeds(picture, end) ? "≥" : "", end);
  return text;
}

// "1 word  2 word  ...": the words of columns that have only a number in the table.
std::string legend(const Picture& picture, const Layout& layout, int width) {
  std::string text, line = "  columns:";
  for (size_t column = 0; column < layout.columns; ++column) {
    const std::string item = "  " + std::to_string(column + 1) + " " + shorten(picture.columns[column], 14);
    if (display_width(line) + display_width(item) > width) {
      text += line + "\n";
      line = "          ";
    }
    line += item;
  }
  return text + line + "\n";
}

std::string color_bar(const Picture& picture, double end, const Terminal& terminal) {
  std::string bar = "0.00 ";
  constexpr int kSteps = 24;
  for (int i = 0; i < kSteps; ++i) bar += paint(viridis(i / (kSteps - 1.0)), terminal.color) + " " + "\x1b[0m";
  return bar + " " + last_of_scale(picture, end);
}

}  // namespace

Terminal look_at_terminal(ColorChoice choice) {
  const auto set = [](const char* name) {
    const char* value = std::getenv(name);
    return std::string_view(value != nullptr ? value : "");
  };
  Terminal terminal;
  terminal.columns = is_terminal() ? std::clamp(terminal_columns(), 20, 400) : 100;
  const std::string_view term = set("TERM");
  // no-color.org: any value except the empty one.
  const bool wanted = is_terminal() && set("NO_COLOR").empty() && !term.empty() && term != "dumb";
  if (choice == ColorChoice::Never || (choice == ColorChoice::Auto && !wanted)) return terminal;
  const std::string_view depth = set("COLORTERM");
  const bool exact =
      depth == "truecolor" || depth == "24bit" || term.ends_with("-direct") || !set("WT_SESSION").empty();
  terminal.color = exact ? ColorMode::TrueColor : ColorMode::Palette256;
  return terminal;
}

std::string draw_table(const Picture& picture, const Terminal& terminal) {
  const Layout layout = lay_out(picture, terminal);
  const double end = scale_end(picture);
  const bool color = terminal.color != ColorMode::None;
  std::string text = (color ? "\x1b[1m" : "") + picture.title + (color ? "\x1b[0m" : "") + "  " + picture.subtitle +
                     "\n" + header(picture, layout) + "\n";
  for (size_t row = 0; row < layout.rows; ++row) {
    text += "  " + row_label(picture, layout, row) + " ";
    for (size_t column = 0; column < layout.columns; ++column)
      text += cell_text(picture, layout, terminal.color, row, column, end);
    text += "\n";
  }
  const bool rows_tell = picture.columns == picture.rows && layout.rows == picture.rows.size();
  if (layout.numbers && !rows_tell) text += legend(picture, layout, terminal.columns);
  if (color)
    text += spaces(layout.label + 3) + color_bar(picture, end, terminal) + "\n";
  else if (layout.numbers)
    text += spaces(layout.label + 3) + "0.00 \"" + std::string(kRamp) + "\" " + last_of_scale(picture, end) + "\n";
  if (layout.rows < picture.rows.size() || layout.columns < picture.columns.size())
    text += "  (here " + std::to_string(layout.rows) + " of " + std::to_string(picture.rows.size()) + " rows, " +
            std::to_string(layout.columns) + " of " + std::to_string(picture.columns.size()) + " columns" +
            (terminal.pictures ? "; the picture shows all" : "") + ")\n";
  return text;
}

}  // namespace tour

#include "curve.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <sstream>

#include "../drawing.hpp"
#include "unfinished.hpp"

namespace learn {
namespace {

using samples::Color;

constexpr Color kPaper{252, 252, 250}, kInk{32, 34, 40}, kGrey{120, 124, 132}, kGrid{228, 229, 231};
constexpr Color kSteps{168, 186, 214}, kMean{44, 94, 168}, kHeldOut{206, 92, 40};
constexpr double kWidth = 560, kHeight = 320, kLeft = 52, kRight = 20, kTop = 52, kBottom = 44;

// Layout of numbers on the page.
struct Axes {
  double last_step, least, most;
  double x(double step) const { return kLeft + step / last_step * (kWidth - kLeft - kRight); }
  double y(double loss) const { return kTop + (most - loss) / (most - least) * (kHeight - kTop - kBottom); }
};

// A distance between tick marks of 1, 2 or 5 times a power of ten, so that there are at most `most` of them.
double mark_distance(double range, int most) {
  const double power = std::pow(10.0, std::floor(std::log10(range / most)));
  for (const double times : {1.0, 2.0, 5.0})
    if (range / (times * power) <= most) return times * power;
  return 10 * power;
}

std::string text_of(double value, double distance) {
  char text[32];
  std::snprintf(text, sizeof text, distance < 1 ? "%.1f" : "%.0f", value);
  return text;
}

void draw_axes(cairo_t* c, const Axes& axes, const std::string& unit) {
  cairo_set_line_width(c, 0.7);
  samples::use_font(c, 9.5);
  const double losses = mark_distance(axes.most - axes.least, 6), steps = mark_distance(axes.last_step, 8);
  for (double at = std::ceil(axes.least / losses) * losses; at <= axes.most; at += losses) {
    samples::use(c, kGrid);
    cairo_move_to(c, kLeft, axes.y(at));
    cairo_line_to(c, kWidth - kRight, axes.y(at));
    cairo_stroke(c);
    samples::use(c, kGrey);
    samples::write(c, text_of(at, losses), kLeft - 7, axes.y(at) + 3, 1);
  }
  samples::use(c, kGrey);
  for (double at = 0; at <= axes.last_step; at += steps)
    samples::write(c, text_of(at, steps), axes.x(at), kHeight - kBottom + 15, 0.5);
  samples::write(c, "steps", kWidth - kRight, kHeight - 10, 1);
  samples::write(c, "nats for a " + unit, kLeft - 30, kTop - 10);
}

// Averages neighbours, so that the line of thousands of steps is readable.
std::vector<double> means(const std::vector<float>& values, size_t reach) {
  std::vector<double> sums(values.size() + 1, 0.0), result(values.size());
  for (size_t i = 0; i < values.size(); ++i) sums[i + 1] = sums[i] + static_cast<double>(values[i]);
  for (size_t i = 0; i < values.size(); ++i) {
    const size_t begin = i < reach ? 0 : i - reach, end = std::min(values.size(), i + reach + 1);
    result[i] = (sums[end] - sums[begin]) / static_cast<double>(end - begin);
  }
  return result;
}

template <class Values>
void draw_line(cairo_t* c, const Axes& axes, const Values& losses, Color color, double width) {
  samples::use(c, color);
  cairo_set_line_width(c, width);
  cairo_new_path(c);  // drawing text leaves a current point
  for (size_t i = 0; i < losses.size(); ++i)
    cairo_line_to(c, axes.x(static_cast<double>(i)), axes.y(static_cast<double>(losses[i])));
  cairo_stroke(c);
}

void draw_held_out(cairo_t* c, const Axes& axes, const Losses& losses) {
  samples::use(c, kHeldOut);
  cairo_set_line_width(c, 1.6);
  cairo_new_path(c);
  for (const auto& [step, loss] : losses.held_out)
    cairo_line_to(c, axes.x(static_cast<double>(step)), axes.y(static_cast<double>(loss)));
  cairo_stroke(c);
  const auto& [step, loss] = losses.held_out.back();
  cairo_arc(c, axes.x(static_cast<double>(step)), axes.y(static_cast<double>(loss)), 3, 0, 7);
  cairo_fill(c);
}

}  // namespace

bool draw_losses(const Losses& losses, const std::string& title, const std::string& unit, const std::string& path,
                 std::string* error) {
  const samples::Page page(kWidth, kHeight, 2);
  cairo_t* c = page.context();
  samples::fill_rectangle(c, 0, 0, kWidth, kHeight, kPaper);
  Axes axes{std::max(1.0, static_cast<double>(losses.of_steps.size()) - 1.0), 0.0, 1.0};
  for (const float loss : losses.of_steps)
    if (std::isfinite(loss)) axes.most = std::max(axes.most, static_cast<double>(loss));
  axes.most *= 1.03;
  samples::use(c, kInk);
  samples::use_font(c, 12, true);
  samples::write(c, title, kLeft - 30, 22);
  draw_axes(c, axes, unit);
  draw_line(c, axes, losses.of_steps, kSteps, 0.6);
  draw_line(c, axes, means(losses.of_steps, std::max<size_t>(1, losses.of_steps.size() / 60)), kMean, 1.6);
  samples::use_font(c, 9.5);
  samples::use(c, kMean);
  samples::write(c, "what it reads", kWidth - kRight, kTop + 12, 1);
  if (!losses.held_out.empty()) {
    draw_held_out(c, axes, losses);
    samples::use(c, kHeldOut);
    char text[64];
    std::snprintf(text, sizeof text, "what was held out: %.3f at last",
                  static_cast<double>(losses.held_out.back().loss));
    samples::write(c, text, kWidth - kRight, kTop + 26, 1);
  }
  Unfinished file;
  return page.write_png(file.add(path), error) && file.finish(error);
}

bool write_losses(const Losses& losses, const std::string& path, std::string* error) {
  std::ofstream file(path);
  file.precision(9);
  for (size_t i = 0; i < losses.of_steps.size(); ++i) file << i << '\t' << losses.of_steps[i] << '\n';
  for (const auto& [step, loss] : losses.held_out) file << "held-out\t" << step << '\t' << loss << '\n';
  file.close();
  if (file) return true;
  *error = path + " cannot be written";
  return false;
}

bool read_losses(const std::string& path, Losses* losses, std::string* error) {
  std::ifstream file(path);
  std::string line, word;
  Losses read;
  while (std::getline(file, line)) {
    std::istringstream words(line);
    int64_t step = -1;
    const bool held_out = line.rfind("held-out", 0) == 0;
    if (held_out) words >> word;
    words >> step >> word;
    char* end = word.data();
    const float loss = std::strtof(word.c_str(), &end);  // a loss may be NaN or infinite, which streams do not parse
    if (!words || end == word.data() || *end != '\0' || step < 0 ||
        (!held_out && static_cast<size_t>(step) != read.of_steps.size())) {
      *error = path + " has a line without a loss: " + line;
      return false;
    }
    if (held_out)
      read.held_out.push_back({step, loss});
    else
      read.of_steps.push_back(loss);
  }
  *losses = std::move(read);
  return true;
}

}  // namespace learn

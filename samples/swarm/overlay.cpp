#include "overlay.hpp"

#include <algorithm>
#include <cstdarg>
#include <cstdio>

namespace swarm {
namespace {

const vec4 kInk(0.80f, 0.84f, 0.95f, 0.95f), kDim(0.42f, 0.47f, 0.62f, 0.9f), kOff(0.12f, 0.13f, 0.18f, 1.0f);
const vec4 kPanel(0.004f, 0.005f, 0.014f, 0.66f), kEdge(0.22f, 0.27f, 0.45f, 0.30f);
const vec4 kRest(0.16f, 0.20f, 0.34f, 1.0f), kOver(0.90f, 0.12f, 0.08f, 1.0f), kGroove(0.02f, 0.025f, 0.05f, 0.9f);

[[gnu::format(printf, 1, 2)]] std::string text(const char* format, ...) {
  char buffer[160];
  va_list arguments;
  va_start(arguments, format);
  std::vsnprintf(buffer, sizeof buffer, format, arguments);
  va_end(arguments);
  return buffer;
}

std::string number(double value) {
  return value < 0 ? "-" : text(value < 10 ? "%.2f" : value < 100 ? "%.1f" : "%.0f", value);
}

// "0.48", or "0.48 of 0.50" if there is a budget.
std::string number_of(double value, double budget) {
  return number(value) + (budget > 0 ? " of " + number(budget) : "");
}

// Places lines of text below each other. Lengths are in points.
class Panel {
 public:
  Panel(const Font& font, std::vector<Box>* boxes) : font_(font), boxes_(boxes), s_(font.scale()) {}

  void box(float x, float y, float w, float h, vec4 color, float radius, float border = 0) {
    boxes_->push_back({vec4(x, y, w, h) * s_, vec4(0), color, vec4(radius, border, 0, 0) * s_});
  }
  void write(Face face, const std::string& words, float x, float y, vec4 color) {
    font_.write(face, words, x * s_, y * s_, color, boxes_);
  }
  void write_right(Face face, const std::string& words, float x, float y, vec4 color) {
    font_.write(face, words, x * s_ - font_.width(face, words), y * s_, color, boxes_);
  }

 private:
  const Font& font_;
  std::vector<Box>* boxes_;
  float s_;
};

constexpr float kLeft = 20, kTop = 20, kWidth = 318, kPad = 16;

void heads(Panel& panel, const OverlayState& state, float* y) {
  const Rules& rules = rules_of(state.flavour);
  for (size_t h = 0; h < SWARM_HEADS; ++h) {
    const bool on = state.heads[h];
    panel.box(kLeft + kPad, *y - 9, 10, 10, on ? kHeadColors[h] : kOff, 5);
    panel.write(Face::Text, rules.heads[h].name, kLeft + kPad + 20, *y, on ? kInk : kDim * vec4(1, 1, 1, 0.6f));
    panel.write_right(Face::Small, rules.heads[h].what, kLeft + kWidth - kPad, *y, kDim);
    *y += 21;
  }
}

// A bar as long as the budget, divided into the time of attention, the time of the rest of the frame, and what is left.
void budget(Panel& panel, const OverlayState& state, float* y) {
  const float width = kWidth - 2 * kPad, x = kLeft + kPad;
  const auto part = [&](double ms) { return static_cast<float>(std::clamp(ms / state.budget_ms, 0.0, 1.0)) * width; };
  panel.box(x, *y, width, 8, kGroove, 4);
  if (state.times.frame >= 0) {
    const float all = part(state.times.frame), attention = part(state.times.attention);
    if (all > 1) panel.box(x, *y, std::max(all, 8.0f), 8, state.times.frame > state.budget_ms ? kOver : kRest, 4);
    if (attention > 1) panel.box(x, *y, std::max(attention, 8.0f), 8, kHeadColors[1], 4);
  }
  *y += 25;
  panel.write(Face::Small, "attention " + number_of(state.times.attention, state.attention_ms), x, *y, kInk);
  panel.write_right(Face::Small, "frame " + number_of(state.times.frame, state.budget_ms) + " ms", x + width, *y, kInk);
  *y += 18;
  const std::string clock = state.shown_ms > 0 ? text("%.0f per second", 1000 / state.shown_ms) : "";
  panel.write(Face::Small, state.device.substr(0, std::min<size_t>(state.device.find(" ("), 28)), x, *y, kDim);
  panel.write_right(Face::Small, state.paused ? "paused" : clock, x + width, *y, kDim);
  *y += 8;
}

}  // namespace

const std::array<vec4, SWARM_HEADS> kHeadColors = {vec4(1.0f, 0.42f, 0.09f, 1), vec4(0.05f, 0.72f, 0.62f, 1),
                                                   vec4(0.95f, 0.09f, 0.36f, 1), vec4(0.19f, 0.24f, 1.0f, 1)};

void build_overlay(const Font& font, const OverlayState& state, VkExtent2D size, std::vector<Box>* boxes) {
  boxes->clear();
  if (state.kind == OverlayKind::None) return;
  Panel panel(font, boxes);
  const Rules& rules = rules_of(state.flavour);
  const bool full = state.kind == OverlayKind::Full;
  const float height = full ? 236 : 168;
  panel.box(kLeft, kTop, kWidth, height, kPanel, 12);
  panel.box(kLeft, kTop, kWidth, height, kEdge, 12, 1);
  float y = kTop + 32;
  panel.write(Face::Title, rules.attention, kLeft + kPad, y, kInk);
  panel.write_right(Face::Small, text("%u agents", state.agents), kLeft + kWidth - kPad, y, kDim);
  y += 19;
  const std::string second = state.flavour == Flavour::Cross ? text(": %u lights", state.targets) : "";
  panel.write(Face::Small, rules.title + second, kLeft + kPad, y, kDim);
  y += 27;
  heads(panel, state, &y);
  if (!full) return;
  y += 2;
  budget(panel, state, &y);
  const std::string keys =
      "arrows: flavour, agents    1-4: heads    click: pick    space: pause    R: anew    P: picture    H: "
      "panel";
  panel.write(Face::Small, keys, kLeft + 4, static_cast<float>(size.height) / font.scale() - 18, kDim);
}

}  // namespace swarm

#include "overlay.hpp"

#include <algorithm>

#include "../formatted.hpp"
#include "learn/plot.hpp"

namespace swarm {
namespace {

const vec4 kPanel(0.004f, 0.005f, 0.014f, 0.66f), kEdge(0.22f, 0.27f, 0.45f, 0.30f);
const vec4 kRest(0.16f, 0.20f, 0.34f, 1.0f), kOver(0.90f, 0.12f, 0.08f, 1.0f);

std::string number(double value) {
  return value < 0 ? "-" : samples::formatted(value < 10 ? "%.2f" : value < 100 ? "%.1f" : "%.0f", value);
}

// "0.48", or "0.48 of 0.50" if there is a budget.
std::string number_of(double value, double budget) {
  return number(value) + (budget > 0 ? " of " + number(budget) : "");
}

constexpr float kPlotExtra = 56;  // the curve makes the panel taller than the list of heads
constexpr float kLeft = Panel::kLeft, kTop = Panel::kTop, kWidth = Panel::kWidth, kPad = Panel::kPad;

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

// A bar as long as the budget, divided into the time of attention, the time of the rest of the frame, and the remainder.
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
  std::string parts = "attention " + number_of(state.times.attention, state.attention_ms);
  if (state.survival != nullptr) parts += "  learning " + number_of(state.times.learning, state.learning_ms);
  panel.write(Face::Small, parts, x, *y, kInk);
  panel.write_right(Face::Small, "frame " + number_of(state.times.frame, state.budget_ms) + " ms", x + width, *y, kInk);
  *y += 18;
  const std::string clock = state.shown_ms > 0 ? samples::formatted("%.0f per second", 1000 / state.shown_ms) : "";
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
  const float height = (full ? 236.0f : 168.0f) + (state.survival != nullptr ? kPlotExtra : 0.0f);
  panel.box(kLeft, kTop, kWidth, height, kPanel, 12);
  panel.box(kLeft, kTop, kWidth, height, kEdge, 12, 1);
  float y = kTop + 32;
  panel.write(Face::Title, rules.attention, kLeft + kPad, y, kInk);
  panel.write_right(Face::Small, samples::formatted("%u agents", state.agents), kLeft + kWidth - kPad, y, kDim);
  y += 19;
  const std::string second = state.flavour == Flavour::Cross  ? samples::formatted(": %u lights", state.targets)
                             : state.flavour == Flavour::Hunt ? samples::formatted(": %u hunters", state.targets)
                                                              : "";
  panel.write(Face::Small, rules.title + second, kLeft + kPad, y, kDim);
  y += 27;
  if (state.survival != nullptr)
    plot(panel, *state.survival, state.steps, &y);
  else
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

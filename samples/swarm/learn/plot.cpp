#include "plot.hpp"

#include <algorithm>
#include <cstdio>

namespace swarm {
namespace {

constexpr float kX = Panel::kLeft + Panel::kPad, kPlotWidth = Panel::kWidth - 2 * Panel::kPad - 34, kPlotHeight = 92;
constexpr size_t kMostBars = 60;
const vec4 kLow(0.90f, 0.10f, 0.12f, 0.95f), kHigh(0.05f, 0.72f, 0.62f, 0.95f), kRule(0.30f, 0.35f, 0.55f, 0.35f);

std::string percent(double share) {
  char text[16];
  std::snprintf(text, sizeof text, "%.0f %%", 100 * share);
  return text;
}

// A bar stands for as many bins as needed to show all. Each is averaged with its neighbours, since a bin has few chases.
std::vector<Survival::Bin> bars_of(const std::vector<Survival::Bin>& bins) {
  const size_t each = std::max<size_t>(1, (bins.size() + kMostBars - 1) / kMostBars), reach = 1 + each / 2;
  std::vector<Survival::Bin> bars;
  for (size_t at = 0; at < bins.size(); at += each) {
    Survival::Bin bar;
    const size_t begin = at < reach ? 0 : at - reach, end = std::min(bins.size(), at + each + reach);
    for (size_t i = begin; i < end; ++i) {
      bar.caught += bins[i].caught;
      bar.fled += bins[i].fled;
    }
    bars.push_back(bar);
  }
  return bars;
}

}  // namespace

void plot(Panel& panel, const Survival& survival, uint32_t steps, float* y) {
  const float top = *y, bottom = top + kPlotHeight;
  for (const double share : {0.0, 0.5, 1.0}) {
    const float at = bottom - static_cast<float>(share) * kPlotHeight;
    panel.box(kX, at - 0.5f, kPlotWidth, 1, kRule, 0);
    panel.write_right(Face::Small, percent(share), kX + kPlotWidth + 34, at + 4, kDim);
  }
  const std::vector<Survival::Bin> bars = bars_of(survival.bins());
  const float pitch = kPlotWidth / static_cast<float>(std::max<size_t>(bars.size(), 12));
  for (size_t i = 0; i < bars.size(); ++i) {
    if (bars[i].chases() == 0) continue;
    const auto share = static_cast<float>(bars[i].share());
    const float height = std::max(2.0f, share * kPlotHeight);
    panel.box(kX + static_cast<float>(i) * pitch, bottom - height, std::max(1.0f, pitch - 1.2f), height,
              glm::mix(kLow, kHigh, std::min(1.0f, 1.4f * share)), std::min(2.0f, 0.3f * pitch));
  }
  *y = bottom + 21;
  panel.write(Face::Small, "of those chased, got away", kX, *y, kDim);
  panel.write_right(
      Face::Small,
      "at first " + percent(survival.part(0, 0.25).share()) + ", now " + percent(survival.part(0.75, 1).share()),
      kX + kPlotWidth + 34, *y, kInk);
  *y += 18;
  char text[64];
  std::snprintf(text, sizeof text, "%u s, %u steps of learning", survival.last().frames / 60, steps);
  panel.write(Face::Small, text, kX, *y, kDim);
  *y += 18;
}

}  // namespace swarm

// The panel over the picture: flavour, heads, times and the budget.
#pragma once

#include "font.hpp"
#include "learn/survival.hpp"
#include "motives.hpp"
#include "renderer.hpp"

namespace swarm {

enum class OverlayKind : uint8_t { Full, Legend, None };  // Legend: without times and keys

struct OverlayState {
  OverlayKind kind = OverlayKind::Full;
  Flavour flavour = Flavour::Flock;
  std::array<bool, SWARM_HEADS> heads = {};
  uint32_t agents = 0, targets = 0;
  Times times;
  double shown_ms = -1;  // time between two pictures, by the clock; negative: not known
  double budget_ms = 16.7;
  double attention_ms = 0;  // limit of GPU time for attention in a frame; 0: none
  double learning_ms = 0;   // the same for learning
  std::string device;
  bool paused = false;
  const Survival* survival = nullptr;  // counts of a hunt
  uint32_t steps = 0;                  // GPU milliseconds of learning
};

// The heads' colours, in linear light.
extern const std::array<vec4, SWARM_HEADS> kHeadColors;

void build_overlay(const Font& font, const OverlayState& state, VkExtent2D size, std::vector<Box>* boxes);

}  // namespace swarm

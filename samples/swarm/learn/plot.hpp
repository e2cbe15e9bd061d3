// The survival curve in the overlay's panel.
#pragma once

#include "../panel.hpp"
#include "survival.hpp"

namespace swarm {

// Draws from `y` on, and increases y by the height.
void plot(Panel& panel, const Survival& survival, uint32_t steps, float* y);

}  // namespace swarm

// The curve of survival in the overlay's panel.
#pragma once

#include "../panel.hpp"
#include "survival.hpp"

namespace swarm {

// Draws from `y` on, and adds the height to it.
void plot(Panel& panel, const Survival& survival, uint32_t steps, float* y);

}  // namespace swarm

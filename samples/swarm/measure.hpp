// Statistics of a crowd, for --report and the tests. Nothing else in the program reads agents back.
#pragma once

#include "bindings.hpp"
#include "motives.hpp"

namespace swarm {

struct Measures {
  double spread = 0;    // root mean square distance of agents from their centre
  double nearest = 0;   // mean distance of an agent to its nearest neighbour
  double order = 0;     // share of agents that are nearer to the next one ahead in line than to the third one ahead
  double distance = 0;  // mean distance of an agent to its nearest target, without the cursor
  bool finite = true;
};

// Waits until the GPU is done.
Measures measure(const Gpu& gpu, const Bindings& bindings, uint32_t agents, uint32_t targets);

}  // namespace swarm

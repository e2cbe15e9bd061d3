// What a crowd looks like in numbers, for --report and the tests: the only thing that reads agents back.
#pragma once

#include "bindings.hpp"
#include "motives.hpp"

namespace swarm {

struct Measures {
  double spread = 0;    // root mean square distance from the centre of all agents
  double nearest = 0;   // mean distance of an agent to its nearest one
  double order = 0;     // share of agents that are nearer to the one before them in line than to the one 3 before it
  double distance = 0;  // mean distance of an agent to its nearest target but the cursor
  bool finite = true;
};

// Waits for the GPU.
Measures measure(const Gpu& gpu, const Bindings& bindings, uint32_t agents, uint32_t targets);

}  // namespace swarm

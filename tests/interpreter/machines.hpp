// Descriptions of GPUs that are not here, as far as the choice of kernels depends on them.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "kernels/dispatch.hpp"

namespace heed::interpreter {

struct Machine {
  std::string word;  // "spirv:nvidia"
  Capabilities capabilities;
  uint32_t subgroup = 32;    // the subgroup size, unless a kernel asks for another
  uint32_t host_offset = 0;  // bytes before the first element of input and output buffers; a multiple of 4
  bool regroups = false;     // its driver turns (a * b) * c into a * (b * c) where it may, and reassociates sums
};

// Kinds of GPUs that get different kernels; and HEED_DRAWN_MACHINES machines, by default a few, with random capabilities by
// HEED_RANDOM_SEED ("drawn:0").
const std::vector<Machine>& machines();

// The machine of this name, which must exist.
const Machine& machine_of(std::string_view word);

}  // namespace heed::interpreter

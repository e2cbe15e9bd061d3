// GPUs that are not here, as far as kernels are chosen by them.
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
  uint32_t subgroup = 32;    // where a kernel does not ask for another
  uint32_t host_offset = 0;  // bytes of the buffers of inputs and outputs before their first element; a multiple of 4
  bool regroups = false;     // its driver makes a * (b * c) of (a * b) * c, and likewise of sums, where it may
};

// Kinds of GPUs that differ in the kernels they get; and HEED_DRAWN_MACHINES of them, by default a few, with
// capabilities drawn at random by HEED_RANDOM_SEED ("drawn:0").
const std::vector<Machine>& machines();

// The machine of this name, which must be there.
const Machine& machine_of(std::string_view word);

}  // namespace heed::interpreter

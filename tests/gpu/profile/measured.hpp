// What the profiler knows of the dispatches of a work, and the lines of CSV that it prints: see README.md.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "gpu/figures.hpp"
#include "interpreter/counts.hpp"

namespace heed::gpu_tests {

// Dispatches of one kernel for one problem.
struct Measured {
  std::string kernel, constants;
  std::array<uint32_t, 3> groups = {1, 1, 1};
  uint32_t subgroup = 0, invocations = 0;
  uint64_t dispatches = 0;
  uint64_t ran = 0;            // workgroups of one that were interpreted
  interpreter::Counts counts;  // of one
  double bound_bytes = 0;      // of what one is bound to and touches
  Figures figures;
  std::string listing;  // the compiler's assembly; empty where it prints none
  std::string lacking;  // why nothing was counted
};

struct Profile {
  std::string target, engine, work;
  double multiply_adds = 0, fewest_bytes = 0;  // of the work, however it is computed; 0: not known
  uint64_t barriers = 0;                       // between its dispatches
  std::vector<Measured> kernels;
};

void print_head();
void print(const Profile& profile);

}  // namespace heed::gpu_tests

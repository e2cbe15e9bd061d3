// The profiler's figures of a work's dispatches, and the lines of CSV that it prints: see README.md.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "gpu/figures.hpp"
#include "interpreter/counts.hpp"

namespace heed::gpu_tests {

// The dispatches of one kernel for one problem.
struct Measured {
  std::string kernel, constants;
  std::array<uint32_t, 3> groups = {1, 1, 1};
  uint32_t subgroup = 0, invocations = 0;
  uint64_t dispatches = 0;
  uint64_t ran = 0;            // interpreted workgroups of one dispatch
  interpreter::Counts counts;  // workgroups of one dispatch
  double bound_bytes = 0;      // bytes that a dispatch binds and accesses
  Figures figures;
  std::string listing;  // the compiler's assembly; empty if it prints none
  std::string lacking;  // why counts are missing
};

struct Profile {
  std::string target, engine, work;
  double multiply_adds = 0, fewest_bytes = 0;  // multiply-adds of the work, however it is computed; 0: not known
  uint64_t barriers = 0;                       // between its dispatches
  std::vector<Measured> kernels;
};

void print_head();
void print(const Profile& profile);

}  // namespace heed::gpu_tests

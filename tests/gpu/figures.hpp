// Figures of a kernel that the compilers of several drivers tell, by common names.
#pragma once

#include <string_view>

#include "gpu/compiler.hpp"
#include "gpu/mix.hpp"

namespace heed::gpu_tests {

// 0 where a compiler does not tell.
struct Figures {
  double registers = 0;         // of one invocation, in the compiler's own unit
  double scalar_registers = 0;  // of a subgroup
  double spills = 0;            // registers that had to be kept in memory
  double fills = 0;             // reads of them
  double messages = 0;          // to memory, shared memory and barriers
  double scratch = 0;           // bytes of memory of one invocation: spilled registers, and arrays indexed at run time
  double shared = 0;            // bytes
  double occupancy =
      0;  // subgroups that a core's registers have room for, in the compiler's own unit; Intel's core has always as
          // many, and this is their size, which the compiler chooses
  double instructions = 0;
  double cycles = 0;                                    // the compiler's estimate
  double fused = 0;                                     // multiply-adds that round once
  double approximations = 0;                            // of exp, roots and the like by the hardware
  double multiply_add_percent = 0, matrix_percent = 0;  // of the instructions
  Mix hottest;                                          // of the inner loop; see mix.hpp
};

// `driver` is a name and version. Mesa's RADV (AMD), NVK (NVIDIA), ANV (Intel), Honeykrisp (Apple), Turnip (Qualcomm) and NVIDIA's
// own driver are known; others have 0 everywhere.
Figures figures_of(std::string_view driver, const Compiled& compiled);

}  // namespace heed::gpu_tests

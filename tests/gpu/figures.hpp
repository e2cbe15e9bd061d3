// Figures of a kernel that compilers of several drivers report, under common names.
#pragma once

#include <string_view>

#include "gpu/compiler.hpp"
#include "gpu/mix.hpp"

namespace heed::gpu_tests {

// A figure is 0 if a compiler does not report it.
struct Figures {
  double registers = 0;         // of one invocation, in the compiler's own unit
  double scalar_registers = 0;  // of a subgroup
  double spills = 0;            // registers spilled to memory
  double fills = 0;             // reads of spilled registers
  double messages = 0;          // accesses to memory and shared memory, and barriers
  double scratch = 0;           // bytes of memory of one invocation: spilled registers, and arrays indexed at run time
  double shared = 0;            // bytes
  double occupancy =
      0;  // subgroups that fit a core's registers, in the compiler's own unit. An Intel core always holds as
          // many; there this is the subgroup size, which the compiler chooses.
  double instructions = 0;
  double cycles = 0;                                    // the compiler's estimate
  double fused = 0;                                     // multiply-adds with one rounding
  double approximations = 0;                            // exp, roots and the like by the hardware
  double multiply_add_percent = 0, matrix_percent = 0;  // bytes of the instructions
  Mix hottest;                                          // instructions of the inner loop; see mix.hpp
};

// `driver` is a name and version. The function knows Mesa's RADV (AMD), NVK (NVIDIA), ANV (Intel), Honeykrisp (Apple) and Turnip
// (Qualcomm), and NVIDIA's own driver. For others all figures are 0.
Figures figures_of(std::string_view driver, const Compiled& compiled);

}  // namespace heed::gpu_tests

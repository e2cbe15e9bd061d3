// Counts instructions of a GPU program by kind.
#pragma once

#include <string_view>

namespace heed::gpu_tests {

struct Mix {
  int all = 0;
  int multiply_adds = 0;  // instructions of the vector unit, packed and dot products included
  // Multiply-adds with one rounding. AMD's v_mad_f32 and v_mac_f32, up to RDNA 1, round twice. So does Qualcomm's mad.f32: Turnip uses it
  // for products and sums that SPIR-V forbids to contract.
  int fused = 0;
  int matrix = 0;          // instructions of the matrix unit
  int approximations = 0;  // exp, log, sin, cos and roots of the hardware; integer divisions use reciprocals
  double percent(int part) const { return all == 0 ? 0.0 : 100.0 * part / all; }
};

struct Listing {
  Mix whole;
  Mix hottest;  // instructions of the block between two labels that multiplies most: the inner loop, as the compiler unrolled it
};

// Reads a compiler's listing, one instruction per line:
//   ACO, for AMD       "v1: %249 = v_add_u32 %247, %248"; also for chips whose assembly the driver cannot print
//   NAK, for NVIDIA    "r4 = ffma r1 r2 r3    // delay=2"
//   GEN, for Intel     "mad(16)  g3<1>F  g4<8,8,1>F  g5<8,8,1>F  g6<1,1,1>F  { align1 1H F@1 };"
//   IR3, for Qualcomm  "(ss)(rpt1)mad.f32 r0.x, r1.x, r2.x, r3.x", which stands for two
// Scalar instructions of AMD, which a core issues in parallel, are not counted in the hottest block.
Listing read_listing(std::string_view text);

}  // namespace heed::gpu_tests

// What kinds of instructions an AMD program is made of.
#pragma once

#include <string_view>

namespace heed::gpu_tests {

struct Mix {
  int all = 0;
  int multiply_adds = 0;  // fused multiply-adds of the vector unit, packed and dot products included
  int matrix = 0;         // of the matrix unit
  double percent(int part) const { return all == 0 ? 0.0 : 100.0 * part / all; }
};

// Of ACO's own listing, one instruction per line: "v1: %249 = v_add_u32 %247, %248". It is there also for
// chips whose assembly the driver's disassembler does not know.
Mix mix_of(std::string_view listing);

}  // namespace heed::gpu_tests

// Finds the pipelines that heed would make on a device, without running anything there.
#pragma once

#include <string>
#include <vector>

#include "kernels/dispatch.hpp"

namespace heed::gpu_tests {

struct ChosenKernel {
  KernelKey key;
  uint32_t binding_count = 0;
  std::string example;   // the first case that asks for it
  Traits traits;         // there
  std::string family;    // its name without storage types: "matmul_vector_subgroup"
  bool sampled = false;  // in one of so many groups of its family; kernels of one name and example are a group
};

// Every pipeline that the cases of cases/op_case.hpp ask of a device, at sizes that models have, each once, in the order of the variant table. False, with
// the reason on stderr, if a case cannot be planned. `each`: one group of so many is sampled.
bool choose_kernels(const Capabilities& device, size_t each, std::vector<ChosenKernel>* chosen);

}  // namespace heed::gpu_tests

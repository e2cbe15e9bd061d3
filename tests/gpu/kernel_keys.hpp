// Lists the pipelines that heed would create on a device, without running anything there.
#pragma once

#include <string>
#include <vector>

#include "kernels/dispatch.hpp"

namespace heed::gpu_tests {

struct ChosenKernel {
  KernelKey key;
  uint32_t binding_count = 0;
  std::string example;   // the first case that needs it
  Traits traits;         // elements in that case
  std::string family;    // the name without storage types: "matmul_vector_subgroup"
  bool sampled = false;  // whether its group is sampled. A group is the kernels of one name and example
};

// Lists every pipeline that the cases of cases/op_case.hpp need on a device, at sizes of real models, each once, in the order of the
// variant table. Returns false, with the reason on stderr, if a case cannot be planned. Samples one group of every `each` groups.
bool choose_kernels(const Capabilities& device, size_t each, std::vector<ChosenKernel>* chosen);

}  // namespace heed::gpu_tests

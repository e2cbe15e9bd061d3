// The subgroups of matrix units, for the kernels of matmul and attention.
#pragma once

#include <algorithm>

#include "kernels/dispatch.hpp"

namespace heed::kernels {

// Intel's matrix units work in subgroups of as many invocations as a fragment has columns. A thread has 128 registers of so many words
// whatever the subgroup's size, so that variables of larger subgroups take several.
inline bool is_intel(const Capabilities& device, const MatrixSize& size) {
  return device.registers <= 128 && size.m == 8;
}
inline uint32_t subgroup_of(const Capabilities& device, const MatrixSize& size) {
  return is_intel(device, size) ? std::min(size.n, device.matrix_subgroup) : device.matrix_subgroup;
}

}  // namespace heed::kernels

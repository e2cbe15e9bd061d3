// Kernels of reproducible plans: those whose shaders define CANON, and those that only move bits.
#pragma once

#include "kernels/lowering.hpp"

namespace heed::kernels {

// The device's capabilities for reproducible plans, without subgroup operations and matrix units, which would change the order of sums.
Capabilities canon_device(const Capabilities& device);
// Replaces the chosen kernels by their canon twins. Unsupported, naming the kernel, if one has none.
Status take_canon_kernels(const Select& select);

}  // namespace heed::kernels

// Kernels of reproducible plans: those of shaders that define CANON, and those that only move words.
#pragma once

#include "kernels/lowering.hpp"

namespace heed::kernels {

// The device as reproducible plans see it: its subgroups and matrix units would change the order of sums.
Capabilities canon_device(const Capabilities& device);
// Takes the kernels of the canon in the place of those that were chosen. Unsupported, naming the kernel, if one has none.
Status take_canon_kernels(const Select& select);

}  // namespace heed::kernels

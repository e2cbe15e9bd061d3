// The kernels of matmul_matrix.comp, as matmul.cpp chooses among them.
#pragma once

#include <span>

#include "kernels/lowering.hpp"

namespace heed::kernels {

namespace matrix {
// Tiles are at the same places as those of matmul.comp.
enum Spec : size_t { kBm = 3, kBn, kBk, kWm, kWn, kFlags, kActivation, kMs, kNs, kKs, kSpecCount };
}  // namespace matrix

// Adds the kernels that a product of at most `most_rows` rows may use; false if there is none. `flags`:
// HEED_MATMUL_*.
bool add_matrix_kernels(const Select& select, uint32_t flags, uint32_t activation, int64_t most_rows,
                        std::span<const size_t> inputs);
// Multiply-adds per time of such a kernel, relative to the largest tile without matrix units.
double matrix_efficiency(const KernelKey& key);

}  // namespace heed::kernels

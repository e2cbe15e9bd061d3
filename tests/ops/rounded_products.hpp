// Cases of matmul by quantized weights, for devices that round activations or split them into summands.
#pragma once

#include <span>

#include "harness/trial.hpp"

namespace heed::ops {

inline constexpr DType kQuantized[] = {DType::Q6_K, DType::Q8_0, DType::Q4_0, DType::Q4_1,
                                       DType::Q5_0, DType::Q5_1, DType::Q4_K, DType::Q5_K};

// Matmul with these types and awkward shapes, and rows of awkward values. `to_f16` selects the bound of matrix units for f16.
std::vector<Case> rounded_products(const CompileOptions& options, bool to_f16, std::span<const DType> types);

// Rows whose blocks of 32 neighbours are near integer multiples of their scale, so that their bytes are known. The result is that of the
// multiples, and only the sums round.
std::vector<Case> products_of_multiples(std::span<const DType> types);

}  // namespace heed::ops

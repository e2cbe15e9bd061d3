// Cases of products by quantized weights for devices that round what they multiply, or split it.
#pragma once

#include <span>

#include "harness/trial.hpp"

namespace heed::ops {

inline constexpr DType kQuantized[] = {DType::Q6_K, DType::Q8_0, DType::Q4_0, DType::Q4_1,
                                       DType::Q5_0, DType::Q5_1, DType::Q4_K, DType::Q5_K};

// Products of these types and awkward shapes, and rows of awkward values. `to_f16`: the bound is that of matrix units for f16.
std::vector<Case> rounded_products(const CompileOptions& options, bool to_f16, std::span<const DType> types);

// Rows whose 32 neighbours are near whole multiples of their scale, so that their bytes are known: the product is that of the
// multiples, with no other error than that of its sums.
std::vector<Case> products_of_multiples(std::span<const DType> types);

}  // namespace heed::ops

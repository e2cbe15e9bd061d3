// Cases of products by quantized weights for devices that round what they multiply, or split it.
#pragma once

#include "harness/trial.hpp"

namespace heed::ops::quantized_test {

// Products of every type and awkward shapes, and rows of awkward values. `to_f16`: the bound is that of matrix units.
std::vector<Case> rounded_products(const CompileOptions& options, bool to_f16);

// Rows whose 32 neighbours are near whole multiples of their scale, so that their bytes are known: the product is that of the
// multiples, with no other error than that of its sums.
std::vector<Case> products_of_multiples();

}  // namespace heed::ops::quantized_test

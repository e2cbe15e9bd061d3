// The elementwise kernels, which concat uses too.
#pragma once

#include "kernels/operations.hpp"

namespace heed::kernels {

// Appends the kernels that compute `attrs` of a and (if valid) b into the node's output. For concat, `input` is the number of the input,
// and `known` holds for all inputs.
Status add_elementwise(const Select& select, const SimpleElementwise& attrs, Tensor a, Tensor b, uint32_t input = 0,
                       Vec4 known = Vec4::Always);

// Appends a dispatch of these kernels over the shape of `out`, to which a and b (null: none) are broadcast.
void emit_walk(const Emit& emit, uint32_t input, const View& a, const View* b, const View& out, float scale);

}  // namespace heed::kernels

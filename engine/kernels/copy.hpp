// The elementwise kernels, which concat uses too.
#pragma once

#include "kernels/operations.hpp"

namespace heed::kernels {

// Appends the kernel that computes `attrs` on a and (if valid) b into the node's output.
Status add_elementwise(const Select& select, const ElementwiseAttrs& attrs, Tensor a, Tensor b);

// Appends its dispatch over the shape of `out`, to which a and b (null: none) are broadcast.
void emit_walk(const Emit& emit, uint32_t kernel, const View& a, const View* b, const View& out, float scale);

}  // namespace heed::kernels

// The elementwise kernels, which concat uses too.
#pragma once

#include "kernels/operations.hpp"

namespace heed::kernels {

// Appends the kernels that compute `attrs` on a and (if valid) b into the node's output, or into parts of it
// that are known to be no better aligned than `parts`.
Status add_elementwise(const Select& select, const ElementwiseAttrs& attrs, Tensor a, Tensor b,
                       Vec4 parts = Vec4::Always);

// Appends its dispatch over the shape of `out`, to which a and b (null: none) are broadcast. `kernel` is the
// first of those that add_elementwise has added; returns the one after them.
uint32_t emit_walk(const Emit& emit, uint32_t kernel, const View& a, const View* b, const View& out, float scale);

}  // namespace heed::kernels

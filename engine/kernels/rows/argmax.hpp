// The kernel that finds the largest or smallest elements along an axis, or their indices.
#pragma once

#include "kernels/operations.hpp"

namespace heed::kernels {

// `flags`: HEED_ARGMAX_*, without those that follow from the type of x. `count`: number of elements to find.
Status add_argmax_kernel(const Select& select, int axis, uint32_t flags, int64_t count);
void emit_argmax_kernel(const Emit& emit, int axis, uint32_t count);

}  // namespace heed::kernels

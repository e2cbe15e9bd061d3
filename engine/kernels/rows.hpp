// Kernels that work on rows in groups of four elements (shaders/shared/row_groups.glsl): softmax and the
// norms.
#pragma once

#include <span>

#include "kernels/operations.hpp"

namespace heed::kernels {

struct RowIds {
  ByStorage plain, subgroup;
};

// Adds the kernels for rows of this length: lanes per row and what they keep in registers, as the device and
// the length ask for. `operands` are all tensors that are read or written by rows; `inputs` are bound, then
// the output.
void select_rows(const Select& select, const RowIds& ids, SizeId length, uint32_t flags,
                 std::span<const Tensor> operands, std::span<const size_t> inputs);
// Appends the dispatch over `rows` rows of `length` elements; `vec4`: whether is_vec4 holds for all operands.
Dispatch& emit_rows(const Emit& emit, int64_t rows, int64_t length, bool vec4);

}  // namespace heed::kernels

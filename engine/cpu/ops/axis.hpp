// Operations along an axis: their operands without it.
#pragma once

#include "cpu/ops/rows.hpp"

namespace heed::cpu {

struct AxisView {
  View rest;           // without the axis
  int64_t stride = 0;  // along it
  int64_t size = 1;

  // `rank`: of a tensor that has the axis; a view of another rank has lost it.
  AxisView(const View& view, int axis, int rank) : rest(view) {
    if (view.rank != rank) return;
    stride = view.stride[axis];
    size = view.dim[axis];
    --rest.rank;
    for (int i = axis; i < rest.rank; ++i) {
      rest.dim[i] = rest.dim[i + 1];
      rest.stride[i] = rest.stride[i + 1];
    }
  }
  int64_t count() const { return rest.elements(); }
  // Of element `index` of the rest, counted row-major.
  int64_t offset(int64_t index) const {
    const int64_t length = row_length(rest);
    return row_offset(rest, index / length) + index % length * row_stride(rest);
  }
};

}  // namespace heed::cpu

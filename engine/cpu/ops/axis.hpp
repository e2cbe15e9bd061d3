// Operations along an axis: views without that axis.
#pragma once

#include "cpu/ops/rows.hpp"

namespace heed::cpu {

struct AxisView {
  View rest;           // without the axis
  int64_t size = 1;    // number of elements along the axis
  int64_t stride = 0;  // along it

  // `rank` is that of a tensor with the axis; a view of another rank has already lost it.
  AxisView(const View& view, int axis, int rank)
      : rest(view), size(view.rank == rank ? view.dim[axis] : 1), stride(take_axis(&rest, axis, rank)) {}
  int64_t count() const { return rest.elements(); }
  // The offset of element `index`, in row-major order of the remaining axes.
  int64_t offset(int64_t index) const {
    const int64_t length = row_length(rest);
    return row_offset(rest, index / length) + index % length * row_stride(rest);
  }
};

}  // namespace heed::cpu

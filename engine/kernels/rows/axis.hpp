// Kernels that go along an axis: a workgroup is elements of the result x invocations that share one of them.
#pragma once

#include "kernels/operations.hpp"

namespace heed::kernels {

struct AxisShape {
  std::array<uint32_t, 3> workgroup;
  const char* why;
};
// For an axis of x.
AxisShape axis_shape(const Select& select, const TensorInfo& x, int axis);

// Takes an axis from a view, and gives its stride. A view that has no such axis, since it was removed, stays; its stride is 0.
inline int64_t take_axis(View* view, int axis, int rank) {
  if (view->rank != rank) return 0;
  const int64_t stride = view->stride[axis];
  --view->rank;
  for (int i = axis; i < view->rank; ++i) {
    view->dim[i] = view->dim[i + 1];
    view->stride[i] = view->stride[i + 1];
  }
  return stride;
}

// Appends the dispatch for `elements`, each of so much work.
Dispatch& emit_elements(const Emit& emit, int64_t elements, double work);

}  // namespace heed::kernels

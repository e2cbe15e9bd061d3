// Kernels that work along an axis: a workgroup is elements of the result x invocations that share one element.
#pragma once

#include "kernels/operations.hpp"

namespace heed::kernels {

struct AxisShape {
  std::array<uint32_t, 3> workgroup;
  const char* why;
};
// The workgroup for an axis of x.
AxisShape axis_shape(const Need& need, const TensorInfo& x, int axis);

// Appends the dispatch for `elements`, each with this much work.
Dispatch& emit_elements(const Emit& emit, int64_t elements, double work, uint32_t kernel = 0);

}  // namespace heed::kernels

// Kernels that go along an axis: a workgroup is elements of the result x invocations that share one of them.
#pragma once

#include "kernels/operations.hpp"

namespace heed::kernels {

struct AxisShape {
  std::array<uint32_t, 3> workgroup;
  const char* why;
};
// For an axis of x.
AxisShape axis_shape(const Need& need, const TensorInfo& x, int axis);

// Appends the dispatch for `elements`, each of so much work.
Dispatch& emit_elements(const Emit& emit, int64_t elements, double work, uint32_t kernel = 0);

}  // namespace heed::kernels

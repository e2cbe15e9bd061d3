#include "kernels/rows/axis.hpp"

namespace heed::kernels {

// Along an inner axis neighbouring invocations read neighbouring memory. Along the last axis short sums share a workgroup, as rows of other
// operations do (rows.cpp): with a whole workgroup each, most invocations would have nothing to add and still wait at the barriers.
AxisShape axis_shape(const Need& need, const TensorInfo& x, int axis) {
  int last = x.rank - 1;
  while (last > axis && need.sizes.is_constant(x.dims[static_cast<size_t>(last)], 1)) --last;
  if (axis != last) return {{32, 4, 1}, "32 results per workgroup, 4 invocations each"};
  const int64_t n = need.max_of(x.dims[static_cast<size_t>(axis)]);
  if (n <= 32) return {{16, 8, 1}, "short: 16 results per workgroup"};
  if (n <= 256) return {{4, 32, 1}, "4 results per workgroup"};
  return {{1, HEED_ROW_INVOCATIONS, 1}, "long: a workgroup for each result"};
}

Dispatch& emit_elements(const Emit& emit, int64_t elements, double work, uint32_t kernel) {
  Dispatch& dispatch = emit.dispatches->add();
  dispatch.kernel = kernel;
  dispatch.groups = fold_groups(ceil_div<int64_t>(elements, emit.kernels.uses[kernel].key.spec[0]));
  dispatch.work = static_cast<double>(elements) * work;
  return dispatch;
}

}  // namespace heed::kernels

// select and emit of every operation, each in the file of its operation; and the workspace of those that ask for one by the
// sheet: floats that the dispatches of a pass hand to each other, or 0.
#pragma once

#include "kernels/lowering.hpp"

namespace heed::kernels {

#define HEED_OPERATION(enumerator, name, ...) \
  Status select_##name(const Select& select); \
  void emit_##name(const Emit& emit);         \
  int64_t name##_workspace(const Need& need);
#include "graph/operations.inc"
#undef HEED_OPERATION

// Whether a fused kernel runs this attention on the device; otherwise it is planned as matmul, softmax and matmul.
// `tensors` and `sizes` are those of the node's graph.
bool fuses_attention(const SizeTable& sizes, std::span<const TensorInfo> tensors, const Node& node,
                     const Capabilities& device);
// Whether there is a kernel for projections of rows of this type by weights of that type.
bool projects(const Capabilities& device, DType rows, DType weights, DType results);

}  // namespace heed::kernels

// select and emit of every operation, each in the file of its operation; and, for operations with a workspace (a flag in the sheet), its
// size in floats, or 0.
#pragma once

#include "kernels/lowering.hpp"

namespace heed::kernels {

#define HEED_OPERATION(enumerator, name, ...) \
  Status select_##name(const Select& select); \
  void emit_##name(const Emit& emit);         \
  int64_t name##_workspace(const Need& need);
#include "graph/operations.inc"
#undef HEED_OPERATION

// Whether the device has a fused kernel for this attention; otherwise it becomes matmul, softmax and matmul. `tensors` and `sizes` are
// those of the node's graph.
bool fuses_attention(const SizeTable& sizes, std::span<const TensorInfo> tensors, const Node& node,
                     const Capabilities& device);
// Whether there is a projection kernel for rows, weights and results of these types.
bool projects(const Capabilities& device, DType rows, DType weights, DType results);

}  // namespace heed::kernels

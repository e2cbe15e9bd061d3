// select and emit of every operation; each pair lives in the file of its operation.
#pragma once

#include "kernels/lowering.hpp"

namespace heed::kernels {

#define HEED_OPERATION(enumerator, name)      \
  Status select_##name(const Select& select); \
  void emit_##name(const Emit& emit);
#include "graph/operations.inc"
#undef HEED_OPERATION

// Floats that an operation's dispatches hand to each other; 0: none.
int64_t matmul_workspace(const Need& need);
int64_t attention_workspace(const Need& need);
int64_t attention_backward_workspace(const Need& need);
int64_t gradient_norm_workspace(const Need& need);
int64_t norm_backward_workspace(const Need& need);
// Whether a fused kernel runs this attention on the device; otherwise it is planned as matmul, softmax and matmul.
// `tensors` and `sizes` are those of the node's graph.
bool fuses_attention(const SizeTable& sizes, std::span<const TensorInfo> tensors, const Node& node,
                     const Capabilities& device);
// Whether there is a kernel for projections of rows of this type by weights of that type.
bool projects(const Capabilities& device, DType rows, DType weights, DType results);

}  // namespace heed::kernels

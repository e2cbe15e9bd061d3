// Nodes for the gradients of activations, broadcasts, tables and slices.
#include "graph/build/backward.hpp"

namespace heed::detail {

Tensor activation_backward(GraphData& data, Tensor upstream, Tensor x, Activation kind) {
  Build build(data, "activation_backward");
  if (!build.needs({upstream, x})) return {};
  const TensorInfo info = build.info(upstream);
  const Tensor result = build.add_like(info, info.dtype);
  build.add_node(Op::Elementwise, {upstream, x}, result, ElementwiseAttrs::of(backward_of(kind)));
  return result;
}

Tensor embedding_backward(GraphData& data, Tensor rows, Tensor ids, SizeId count) {
  Build build(data, "embedding_backward");
  if (!build.needs({rows, ids})) return {};
  const Tensor dense_rows = build.contiguous(rows), dense_ids = build.contiguous(ids);
  TensorInfo out = build.info(rows);
  out.dims[1] = count;
  const Tensor result = build.add_like(out, out.dtype);
  build.add_node(Op::EmbeddingBackward, {dense_rows, dense_ids}, result, EmptyAttrs{});
  return result;
}

Tensor slice_backward(GraphData& data, Tensor x, const TensorInfo& part, const TensorInfo& whole) {
  Build build(data, "slice_backward");
  if (!build.needs({x})) return {};
  const Tensor result = build.add_like(whole, build.info(x).dtype);
  build.add_node(Op::SliceBackward, {x}, result, SliceBackwardAttrs{part.offset, part.strides});
  return result;
}

}  // namespace heed::detail

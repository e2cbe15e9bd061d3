// Gradients of embedding, and of scatter and gather of rows.
#include <algorithm>
#include <array>

#include "train/rules.hpp"

namespace heed::train {

void embedding_rule(Backflow& flow, const Node& node) {
  const Tensor table = node.inputs[in::kTable], ids = node.inputs[in::kIds];
  if (!flow.wants(table)) return;
  Build& build = flow.build();
  const SizeId one = flow.data().sizes.constant(1), count = build.elements(flow.info(ids));
  const TensorInfo whole = flow.info(table);
  const Tensor rows = reshaped(flow, flow.upstream(node.outputs[0]), std::array{one, count, whole.dims[1]});
  const Tensor flat_ids = reshaped(flow, ids, std::array{one, count});
  if (!rows.valid() || !flat_ids.valid()) return;
  const Tensor sums = detail::embedding_backward(flow.data(), rows, flat_ids, whole.dims[0]);
  flow.add(table, reshaped(flow, sums, std::array{whole.dims[0], whole.dims[1]}));
}

// scatter: the gradient of each row of values is that of the sum to which it was added.
void embedding_backward_rule(Backflow& flow, const Node& node) {
  if (flow.wants(node.inputs[0]))
    flow.add(node.inputs[0], flow.graph().take(flow.upstream(node.outputs[0]), 1, node.inputs[1]));
}

namespace {

// `places` broadcast to these dims by a copy.
Tensor all_places(Backflow& flow, Tensor places, const TensorInfo& shape) {
  if (flow.build().same_shape(flow.info(places), shape)) return places;
  TensorInfo dims = shape;
  dims.dtype = DType::I32;
  return expanded(flow, places, dims);
}

}  // namespace

// take: an element that was read several times gets the sum. append passes no gradient on, since its result is a state.
void place_rule(Backflow& flow, const Node& node) {
  const Tensor x = node.inputs[in::kX];
  if (!flow.wants(x)) return;
  const auto& attrs = node.as<PlaceAttrs>();
  const Tensor upstream = flow.upstream(node.outputs[0]);
  const TensorInfo rows = flow.info(node.outputs[0]), from = flow.info(x);
  TensorInfo named = rows, given = from;
  named.rank = attrs.axis + 1;
  const Tensor places = all_places(flow, node.inputs[in::kPlaces], named);
  std::copy_n(rows.dims.begin(), attrs.axis, given.dims.begin());
  const SizeId outer = flow.build().elements(rows, 0, attrs.axis),
               inner = flow.build().elements(rows, attrs.axis + 1, rows.rank);
  const SizeId length = rows.dims[static_cast<size_t>(attrs.axis)];
  const Tensor flat = reshaped(flow, upstream, std::array{outer, length, inner});
  const Tensor flat_places = reshaped(flow, places, std::array{outer, length});
  if (!flat.valid() || !flat_places.valid()) return;
  const Tensor sums = detail::embedding_backward(flow.data(), flat, flat_places, attrs.room);
  flow.add(x, reshaped(flow, sums, {given.dims.data(), static_cast<size_t>(given.rank)}));
}

}  // namespace heed::train

// Scatter and gather of rows at positions given by tensors: append with a position for each row, and take.
#include "graph/build/op_place.hpp"

#include <algorithm>

namespace heed {

using detail::Build;

namespace {

// Views `places` as the first axis + 1 dims of a tensor of this shape. Records a mistake and returns an invalid tensor if it does not fit.
Tensor like_rows(Build& build, Tensor places, TensorInfo rows, int axis) {
  const TensorInfo& info = build.info(places);
  rows.rank = axis + 1;
  if (info.dtype == DType::I32 && build.broadcasts_to(info, rows)) return places;
  return build.fail(info.dtype == DType::I32 ? Status::ShapeMismatch : Status::DTypeMismatch,
                    format("places %s; i32 that broadcasts to %s is needed", build.text(places).c_str(),
                           build.shape_text(rows).c_str()));
}

// The numbers 0 .. most - 1, of which a run uses the first `count`.
Tensor counted(Build& build, SizeId count) {
  const int64_t most = build.max_of(count);
  const Tensor table =
      build.shared_places(format("%lld", static_cast<long long>(most)), most, [](int64_t i) { return i; });
  return table.valid() ? build.add_slice(table, 0, 0, build.dim_of(count)) : Tensor{};
}

// begin[b] + i for row i along an axis, [B, 1, .., size of the axis]. Calls with the same arguments share one node.
Tensor consecutive(Build& build, Tensor begin, const TensorInfo& rows, int axis) {
  const TensorInfo info = build.info(begin);
  const SizeId length = rows.dims[static_cast<size_t>(axis)];
  if (info.dtype != DType::I32 || info.dims[0] != rows.dims[0])
    return build.fail(info.dtype == DType::I32 ? Status::ShapeMismatch : Status::DTypeMismatch,
                      format("%s for rows %s; i32 [B], or a place for each row, is needed", build.text(begin).c_str(),
                             build.shape_text(rows).c_str()));
  TensorInfo shape;
  shape.dtype = DType::I32;
  shape.rank = axis + 1;
  shape.dims.fill(build.data().sizes.constant(1));
  shape.dims[0] = rows.dims[0];
  shape.dims[static_cast<size_t>(axis)] = length;
  for (const Node& node : build.data().nodes)
    if (node.op == Op::Elementwise && node.inputs[in::kB].valid() && node.label.ends_with(detail::kPlacesLabel) &&
        build.info(node.inputs[in::kA]).storage == info.storage &&
        build.info(node.inputs[in::kA]).offset == info.offset &&
        build.info(node.inputs[in::kA]).strides[0] == info.strides[0] &&
        build.info(node.inputs[in::kA]).writes == info.writes && build.same_shape(build.info(node.outputs[0]), shape))
      return node.outputs[0];
  TensorInfo view = info;
  view.name.clear();
  view.rank = axis + 1;
  for (int i = 1; i <= axis; ++i) {
    view.dims[static_cast<size_t>(i)] = build.data().sizes.constant(1);
    view.strides[static_cast<size_t>(i)] = build.data().sizes.constant(1);
  }
  const Tensor first = build.add_view(view, info.storage), numbers = counted(build, length);
  if (!numbers.valid()) return {};
  const Tensor places = build.add_like(shape, DType::I32);
  Node& node =
      build.add_node(Op::Elementwise, {first, numbers}, places, ElementwiseAttrs::of(Function::Add, Domain::Whole));
  node.label += detail::kPlacesLabel;
  return places;
}

}  // namespace

Tensor detail::places_of(Build& build, Tensor given, const TensorInfo& rows, int axis) {
  return build.info(given).rank == 1 && axis > 0 ? consecutive(build, given, rows, axis)
                                                 : like_rows(build, given, rows, axis);
}

Tensor Graph::take(Tensor x, int axis, Tensor places) {
  Build build(*data_, "take");
  if (!build.needs({x, places})) return {};
  const TensorInfo from = build.info(x);
  const int counted_axis = build.axis_of(axis, from.rank);
  if (counted_axis < 0) return {};
  const auto at = static_cast<size_t>(counted_axis);
  const TensorInfo& named = build.info(places);
  TensorInfo out = from;
  for (int i = 0; i < std::min(named.rank, counted_axis + 1); ++i) {
    const auto here = static_cast<size_t>(counted_axis - i);
    if (i == 0 || data_->sizes.is_constant(from.dims[here], 1)) out.dims[here] = build.dim_from_end(named, i);
  }
  if (!like_rows(build, places, out, counted_axis).valid()) return {};
  const Tensor result = build.add_like(out, from.dtype);
  build.add_node(Op::Place, {x, places}, result, PlaceAttrs{counted_axis, from.dims[at], true});
  return result;
}

}  // namespace heed

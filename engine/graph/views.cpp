// Views: other shapes and strides on the same memory.
#include <algorithm>
#include <vector>

#include "graph/build.hpp"

namespace heed {

using detail::Build;

namespace {

// Tries to see `from` as `to` (rank and dims set) without a copy: equal leading and trailing dims keep their
// strides; what lies between must be one run of memory on the old side, which the new dims then divide.
bool reshape_in_place(Build& build, const TensorInfo& from, TensorInfo* to) {
  SizeTable& sizes = build.data().sizes;
  int head = 0;
  while (head < from.rank && head < to->rank &&
         from.dims[static_cast<size_t>(head)] == to->dims[static_cast<size_t>(head)]) {
    to->strides[static_cast<size_t>(head)] = from.strides[static_cast<size_t>(head)];
    ++head;
  }
  int tail = 0;
  while (tail < from.rank - head && tail < to->rank - head &&
         build.dim_from_end(from, tail) == build.dim_from_end(*to, tail)) {
    to->strides[static_cast<size_t>(to->rank - 1 - tail)] = from.strides[static_cast<size_t>(from.rank - 1 - tail)];
    ++tail;
  }
  // The run's innermost stride; dims of size 1 have no say.
  SizeId expected = -1, innermost = sizes.constant(1);
  for (int i = from.rank - 1 - tail; i >= head; --i) {
    const auto at = static_cast<size_t>(i);
    if (sizes.is_constant(from.dims[at], 1)) continue;
    if (expected < 0)
      innermost = from.strides[at];
    else if (from.strides[at] != expected)
      return false;
    expected = sizes.mul(from.strides[at], from.dims[at]);
  }
  SizeId stride = innermost;
  for (int i = to->rank - 1 - tail; i >= head; --i) {
    const auto at = static_cast<size_t>(i);
    to->strides[at] = stride;
    stride = sizes.mul(stride, to->dims[at]);
  }
  to->offset = from.offset;
  return true;
}

SizeId product(Build& build, const TensorInfo& info) {
  SizeId elements = build.data().sizes.constant(1);
  for (int i = 0; i < info.rank; ++i) elements = build.data().sizes.mul(elements, info.dims[static_cast<size_t>(i)]);
  return elements;
}

}  // namespace

Tensor Graph::reshape(Tensor x, const Shape& shape) {
  Build build(*data_, "reshape");
  TensorInfo view;
  if (!build.needs({x}) || !build.sizes_of(shape, "shape", &view)) return {};
  view.dtype = build.info(x).dtype;
  if (product(build, build.info(x)) != product(build, view))
    return build.fail(Status::ShapeMismatch, format("%s does not hold the elements of %s", build.text(x).c_str(),
                                                    build.shape_text(view).c_str()));
  const TensorInfo from = build.info(x);
  if (reshape_in_place(build, from, &view)) return build.add_view(view, from.storage);
  const Tensor dense = build.contiguous(x);
  build.make_contiguous(&view);
  return build.add_view(view, build.info(dense).storage);
}

Tensor Graph::permute(Tensor x, std::initializer_list<int> axes) {
  return permute(x, std::span<const int>(axes.begin(), axes.size()));
}

Tensor Graph::permute(Tensor x, std::span<const int> axes) {
  Build build(*data_, "permute");
  if (!build.needs({x})) return {};
  const TensorInfo from = build.info(x);
  if (static_cast<int>(axes.size()) != from.rank)
    return build.fail(Status::InvalidArgument, format("%zu axes for %s", axes.size(), build.text(x).c_str()));
  TensorInfo view = from;
  view.name.clear();
  bool used[kMaxRank] = {};
  for (size_t i = 0; i < axes.size(); ++i) {
    const int axis = build.axis_of(axes[i], from.rank);
    if (axis < 0) return {};
    const auto at = static_cast<size_t>(axis);
    if (used[at]) return build.fail(Status::InvalidArgument, format("axis %d is named twice", axes[i]));
    used[at] = true;
    view.dims[i] = from.dims[at];
    view.strides[i] = from.strides[at];
  }
  return build.add_view(view, from.storage);
}

Tensor Graph::transpose(Tensor x, int axis_a, int axis_b) {
  Build build(*data_, "transpose");
  if (!build.needs({x})) return {};
  TensorInfo view = build.info(x);
  const int a = build.axis_of(axis_a, view.rank), b = build.axis_of(axis_b, view.rank);
  if (a < 0 || b < 0) return {};
  view.name.clear();
  std::swap(view.dims[static_cast<size_t>(a)], view.dims[static_cast<size_t>(b)]);
  std::swap(view.strides[static_cast<size_t>(a)], view.strides[static_cast<size_t>(b)]);
  return build.add_view(view, view.storage);
}

Tensor Graph::slice(Tensor x, int axis, int64_t begin, Dim size) {
  Build build(*data_, "slice");
  TensorInfo part;
  if (!build.needs({x}) || !build.sizes_of({size}, "size", &part)) return {};
  TensorInfo view = build.info(x);
  const int counted = build.axis_of(axis, view.rank);
  if (counted < 0) return {};
  const auto at = static_cast<size_t>(counted);
  // Of an extent-sized axis only the whole, or its first element, is known to be there at every run.
  const int64_t sure = data_->sizes.is_constant(view.dims[at]) ? build.max_of(view.dims[at]) : 1;
  const bool fits =
      part.dims[0] == view.dims[at] ? begin == 0 : begin >= 0 && begin <= sure - build.max_of(part.dims[0]);
  if (!fits)
    return build.fail(Status::InvalidArgument,
                      format("elements %lld + %s of axis %d are not within %s", static_cast<long long>(begin),
                             build.size_text(part.dims[0]).c_str(), axis, build.text(x).c_str()));
  view.name.clear();
  view.dims[at] = part.dims[0];
  view.offset = data_->sizes.add(view.offset, data_->sizes.mul(view.strides[at], data_->sizes.constant(begin)));
  return build.add_view(view, view.storage);
}

Tensor Graph::select(Tensor x, int axis, int64_t index) {
  const Tensor one = slice(x, axis, index, 1);
  Build build(*data_, "select");
  if (!build.needs({one})) return {};
  TensorInfo view = build.info(one);
  const int counted = build.axis_of(axis, view.rank);
  if (view.rank < 2) return build.fail(Status::InvalidArgument, "the last axis cannot be removed");
  for (int i = counted; i + 1 < view.rank; ++i) {
    view.dims[static_cast<size_t>(i)] = view.dims[static_cast<size_t>(i + 1)];
    view.strides[static_cast<size_t>(i)] = view.strides[static_cast<size_t>(i + 1)];
  }
  --view.rank;
  return build.add_view(view, view.storage);
}

}  // namespace heed

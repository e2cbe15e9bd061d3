// Views: other shapes and strides on the same memory.

#include "graph/build/build.hpp"

namespace heed {

using detail::Build;

bool detail::reshape_in_place(Build& build, const TensorInfo& from, TensorInfo* to) {
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
  // Finds the innermost stride of the run. Strides of dims of size 1 do not matter.
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

bool detail::shows_heads(Build& build, const TensorInfo& made, const TensorInfo& heads) {
  SizeTable& sizes = build.data().sizes;
  const auto is = [&](SizeId size, int64_t value) { return sizes.is_constant(size, value); };
  if (heads.rank != 4 || (made.rank != 2 && made.rank != 3) || !sizes.is_constant(heads.dims[1]) ||
      !sizes.is_constant(heads.dims[3]) || !build.is_contiguous(made) || !is(heads.offset, 0))
    return false;
  const SizeId width = build.dim_from_end(made, 0), length = build.dim_from_end(made, 1);
  const bool one_batch = is(heads.dims[0], 1);
  return heads.dims[2] == length && sizes.mul(heads.dims[1], heads.dims[3]) == width &&
         (heads.strides[1] == heads.dims[3] || is(heads.dims[1], 1)) && is(heads.strides[3], 1) &&
         (heads.strides[2] == width || is(length, 1)) && (made.rank == 2 ? one_batch : heads.dims[0] == made.dims[0]) &&
         (one_batch || heads.strides[0] == sizes.mul(length, width));
}

Tensor Graph::reshape(Tensor x, const Shape& shape) {
  Build build(*data_, "reshape");
  TensorInfo view;
  if (!build.needs_of_any_type({x}) || !build.sizes_of(shape, "shape", &view)) return {};
  view.dtype = build.info(x).dtype;
  if (build.elements(build.info(x)) != build.elements(view))
    return build.fail(Status::ShapeMismatch, format("%s does not hold the elements of %s", build.text(x).c_str(),
                                                    build.shape_text(view).c_str()));
  const TensorInfo from = build.info(x);
  if (reshape_in_place(build, from, &view)) return build.add_view(view, from.storage);
  if (!build.needs({x})) return {};  // to be copied
  const Tensor dense = build.contiguous(x);
  build.make_contiguous(&view);
  return build.add_view(view, build.info(dense).storage);
}

Tensor Graph::permute(Tensor x, std::initializer_list<int> axes) {
  return permute(x, std::span<const int>(axes.begin(), axes.size()));
}

Tensor Graph::permute(Tensor x, std::span<const int> axes) {
  Build build(*data_, "permute");
  if (!build.needs_of_any_type({x})) return {};
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
  if (!build.needs_of_any_type({x})) return {};
  const int rank = build.info(x).rank, a = build.axis_of(axis_a, rank), b = build.axis_of(axis_b, rank);
  return a < 0 || b < 0 ? Tensor{} : build.add_transposed(x, a, b);
}

namespace detail {
namespace {

// Whether `size` elements from `begin` on lie within `dim` at every run. Where one of them is only known at a run and some
// runs fit, a bound is added that refuses the others and says `what()`.
template <class What>
bool fits_slice(Build& build, SizeId begin, SizeId size, SizeId dim, const What& what) {
  SizeTable& sizes = build.data().sizes;
  if (sizes.is_constant(begin, 0) && size == dim) return true;
  const SizeId end = sizes.add(begin, size);
  if (build.max_of(end) <= build.least_of(dim)) return true;
  if (sizes.is_constant(begin) && (sizes.is_constant(size) || !sizes.is_constant(dim))) return false;
  if (build.least_of(end) > build.max_of(dim)) return false;
  build.data().bounds.push_back({end, dim, what()});
  return true;
}

}  // namespace

Tensor Build::add_slice(Tensor x, int axis, Dim begin, Dim size) {
  TensorInfo part;
  if (!needs_of_any_type({x}) || !sizes_of({size}, "size", &part)) return {};
  TensorInfo view = info(x);
  const int counted = axis_of(axis, view.rank);
  if (counted < 0) return {};
  const auto at = static_cast<size_t>(counted);
  if (!is_number(begin))
    return fail(Status::InvalidArgument, begin.is_constant()
                                             ? format("it begins at %lld", static_cast<long long>(begin.value))
                                             : "it begins at a number of another graph");
  const SizeId first = id_of(begin);
  const auto what = [&] {
    return format("elements %s + %s of axis %d of %s", size_text(first).c_str(), size_text(part.dims[0]).c_str(), axis,
                  text(x).c_str());
  };
  if (!fits_slice(*this, first, part.dims[0], view.dims[at], what))
    return fail(Status::InvalidArgument, what() + " are not within it");
  view.name.clear();
  view.dims[at] = part.dims[0];
  view.offset = data_.sizes.add(view.offset, data_.sizes.mul(view.strides[at], first));
  return add_view(view, view.storage);
}

}  // namespace detail

Tensor Graph::slice(Tensor x, int axis, Dim begin, Dim size) {
  return Build(*data_, "slice").add_slice(x, axis, begin, size);
}

Tensor Graph::last(Tensor x, int axis) {
  Build build(*data_, "last");
  if (!build.needs_of_any_type({x})) return {};
  TensorInfo view = build.info(x);
  const int counted = build.axis_of(axis, view.rank);
  if (counted < 0) return {};
  const auto at = static_cast<size_t>(counted);
  SizeTable& sizes = data_->sizes;
  view.name.clear();
  view.offset = sizes.add(view.offset, sizes.mul(view.strides[at], sizes.less_one(view.dims[at])));
  view.dims[at] = sizes.constant(1);
  return build.add_view(view, view.storage);
}

Tensor Graph::select(Tensor x, int axis, int64_t index) {
  const Tensor one = slice(x, axis, index, 1);
  Build build(*data_, "select");
  if (!build.needs_of_any_type({one})) return {};
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

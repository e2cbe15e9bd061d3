// Views: other shapes and strides on the same memory.

#include <algorithm>

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
  // Finds the innermost stride of the contiguous run. Strides of dims of size 1 do not matter.
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

namespace {

// Converts the shape of a reshape to sizes. One of them may be -1, which follows from the number of elements.
bool fill_shape(Build& build, const TensorInfo& from, Shape shape, TensorInfo* to) {
  int rest = -1;
  for (int i = 0; i < std::min(shape.rank, kMaxRank); ++i) {
    if (shape[i] != Dim(-1)) continue;
    if (rest >= 0) return build.refuse(Status::InvalidArgument, format("dims %d and %d are -1; one may be", rest, i));
    rest = i;
    shape[i] = 1;
  }
  if (!build.sizes_of(shape, "shape", to) || rest < 0) return !build.failed();
  const SizeId all = build.elements(from), others = build.elements(*to);
  SizeTable& sizes = build.data().sizes;
  std::optional<SizeId> size = sizes.quotient(all, others);
  if (!size && !(sizes.is_constant(all) && sizes.is_constant(others))) {
    size = build.computed({SizeRule::Kind::Quotient, all, others});
    if (build.failed()) return false;
    if (!build.keep_from_0(*size)) size.reset();
  }
  if (!size)
    return build.refuse(Status::ShapeMismatch, format("the elements of %s are no whole multiple of those of %s",
                                                      build.shape_text(from).c_str(), build.shape_text(*to).c_str()));
  to->dims[static_cast<size_t>(rest)] = *size;
  return true;
}

}  // namespace

Tensor Graph::reshape(Tensor x, const Shape& shape) {
  Build build(*data_, "reshape");
  TensorInfo view;
  if (!build.needs_of_any_type({x}) || !fill_shape(build, build.info(x), shape, &view)) return {};
  view.dtype = build.info(x).dtype;
  if (build.elements(build.info(x)) != build.elements(view))
    return build.fail(Status::ShapeMismatch, format("%s does not hold the elements of %s", build.text(x).c_str(),
                                                    build.shape_text(view).c_str()));
  const TensorInfo from = build.info(x);
  if (reshape_in_place(build, from, &view)) return build.add_view(view, from.storage);
  if (!build.needs({x})) return {};  // x may be a quantized weight, which cannot be copied
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

// Whether `size` elements from `begin` on lie within `dim` at every run. If that is only known at a run and some runs fit, a bound is added
// that refuses the others with the message what().
template <class What>
bool fits_slice(Build& build, SizeId begin, SizeId size, SizeId dim, const What& what) {
  SizeTable& sizes = build.data().sizes;
  const SizeId end = sizes.add(begin, size);
  if (end == dim || build.max_of(end) <= build.least_of(dim)) return true;
  if (sizes.is_constant(begin) && sizes.is_constant(size)) return false;
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
  return add_range(x, counted, first, part.dims[0]);
}

Tensor Build::add_range(Tensor x, int axis, SizeId begin, SizeId size) {
  TensorInfo view = info(x);
  const auto at = static_cast<size_t>(axis);
  view.name.clear();
  view.dims[at] = size;
  view.offset = data_.sizes.add(view.offset, data_.sizes.mul(view.strides[at], begin));
  return add_view(view, view.storage);
}

namespace {

// A slice whose begin or size counts from the end of the axis. If runs could make the axis shorter than `least`, a bound refuses them.
Tensor slice_from_end(Build& build, Tensor x, int axis, Dim begin, Dim size) {
  SizeTable& sizes = build.data().sizes;
  const SizeId dim = build.info(x).dims[static_cast<size_t>(axis)];
  const auto text = [](const Dim& d) {
    return format(d.is_constant() ? "%lld" : "<=%lld", static_cast<long long>(d.value));
  };
  const std::string what = format("elements from %s on, %s of them, of axis %d of %s", text(begin).c_str(),
                                  text(size).c_str(), axis, build.text(x).c_str());
  if (!begin.is_constant() || !size.is_constant())
    return build.fail(Status::InvalidArgument,
                      what + ": what counts from the end must be a constant, and so must the other");
  constexpr int64_t kMost = int64_t{1} << 40;  // the sums below cannot wrap
  if (begin.value < -kMost || begin.value > kMost || size.value < -kMost || size.value > kMost)
    return build.fail(Status::InvalidArgument, what + " are not within it");
  const bool is_begin_behind = begin.value < 0, is_end_behind = size.value < 0;
  // Distances from the end: of the first element, and of the element after the last one.
  const int64_t from_end = -begin.value, left_out = -1 - size.value;
  int64_t least = 0, count = 0;
  if (is_begin_behind) {
    least = from_end;
    count = is_end_behind ? from_end - left_out : size.value;
    if (count > from_end) count = 0;
  } else {
    least = begin.value + left_out + 1;
    count = 1;
  }
  if (count < 1 || least > build.max_of(dim)) return build.fail(Status::InvalidArgument, what + " are not within it");
  if (least > build.least_of(dim)) build.data().bounds.push_back({sizes.constant(least), dim, what});
  if (is_begin_behind) return build.add_range(x, axis, sizes.less(dim, from_end), sizes.constant(count));
  // least - 1 elements are left out. The sum is at least 1 even at runs that are refused, as sizes must be.
  const SizeId shown = least == 1 ? dim : sizes.add(sizes.less(dim, least), sizes.constant(1));
  return build.add_range(x, axis, sizes.constant(begin.value), shown);
}

}  // namespace
}  // namespace detail

Tensor Graph::slice(Tensor x, int axis, Dim begin, Dim size) {
  Build build(*data_, "slice");
  const auto is_negative = [](const Dim& d) { return d.is_constant() && d.value < 0; };
  if (!is_negative(begin) && !is_negative(size)) return build.add_slice(x, axis, begin, size);
  if (!build.needs_of_any_type({x})) return {};
  const int counted = build.axis_of(axis, build.info(x).rank);
  return counted < 0 ? Tensor{} : detail::slice_from_end(build, x, counted, begin, size);
}

std::vector<Tensor> Graph::split(Tensor x, int axis, std::initializer_list<Dim> sizes) {
  return split(x, axis, std::span<const Dim>(sizes.begin(), sizes.size()));
}

std::vector<Tensor> Graph::split(Tensor x, int axis, std::span<const Dim> sizes) {
  Build build(*data_, "split");
  std::vector<Tensor> parts(sizes.size());
  if (!build.needs_of_any_type({x})) return parts;
  const int counted = build.axis_of(axis, build.info(x).rank);
  if (counted < 0) return parts;
  std::vector<SizeId> ends = {data_->sizes.constant(0)};
  std::vector<SizeId> ids;
  for (const Dim& size : sizes) {
    TensorInfo part;
    if (!build.sizes_of({size}, "size", &part)) return parts;
    ids.push_back(part.dims[0]);
    ends.push_back(data_->sizes.add(ends.back(), ids.back()));
  }
  if (ends.back() != build.info(x).dims[static_cast<size_t>(counted)]) {
    build.fail(Status::ShapeMismatch, format("the sizes are %s together; axis %d of %s is another",
                                             build.size_text(ends.back()).c_str(), axis, build.text(x).c_str()));
    return parts;
  }
  for (size_t i = 0; i < parts.size(); ++i) parts[i] = build.add_range(x, counted, ends[i], ids[i]);
  return parts;
}

Tensor Graph::stride(Tensor x, int axis, int64_t step) {
  Build build(*data_, "stride");
  if (!build.needs({x})) return {};
  TensorInfo view = build.info(x);
  const int counted = build.axis_of(axis, view.rank);
  if (counted < 0) return {};
  if (step < 1)
    return build.fail(Status::InvalidArgument,
                      format("the step is %lld; it must be at least 1", static_cast<long long>(step)));
  if (step == 1) return x;
  const auto at = static_cast<size_t>(counted);
  SizeTable& sizes = data_->sizes;
  if (!sizes.is_constant(view.dims[at]))
    return build.fail(Status::Unsupported, format("axis %d of %s is not constant", axis, build.text(x).c_str()));
  const int64_t size = build.max_of(view.dims[at]);
  view.name.clear();
  view.dims[at] = sizes.constant((size - 1) / step + 1);
  if (step < size) view.strides[at] = sizes.mul(view.strides[at], sizes.constant(step));
  return build.add_view(view, view.storage);
}

Tensor Graph::expand(Tensor x, const Shape& shape) {
  Build build(*data_, "expand");
  TensorInfo to;
  if (!build.needs({x}) || !build.sizes_of(shape, "shape", &to)) return {};
  const TensorInfo from = build.info(x);
  if (!build.broadcasts_to(from, to))
    return build.fail(Status::ShapeMismatch,
                      format("%s does not broadcast to %s", build.text(x).c_str(), build.shape_text(to).c_str()));
  SizeTable& sizes = data_->sizes;
  to.dtype = from.dtype;
  to.offset = from.offset;
  to.strides.fill(sizes.constant(0));
  for (int i = 0; i < from.rank; ++i) {
    const auto at = static_cast<size_t>(i), there = static_cast<size_t>(i + to.rank - from.rank);
    if (from.dims[at] == to.dims[there]) to.strides[there] = from.strides[at];
  }
  return build.add_view(to, from.storage);
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
  view.offset = sizes.add(view.offset, sizes.mul(view.strides[at], sizes.less(view.dims[at], 1)));
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

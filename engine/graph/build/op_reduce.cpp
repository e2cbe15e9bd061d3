// Graph calls along axes: reductions, mean, sum, argmax, argmin, cumsum, top_k.
#include <algorithm>
#include <array>
#include <utility>

#include "graph/build/backward.hpp"
#include "graph/build/build.hpp"
#include "graph/build/op_softmax.hpp"

namespace heed {

using detail::Build;

namespace {

constexpr bool takes_whole(Reduction kind) {
  return kind == Reduction::Sum || kind == Reduction::Max || kind == Reduction::Min;
}

bool check_type(Build& build, Tensor x, bool takes_whole) {
  const DType dtype = build.info(x).dtype;
  if (is_float(dtype) || (takes_whole && dtype == DType::I32)) return true;
  return build.refuse(Status::DTypeMismatch, format("%s: f32, f16%s is needed", build.text(x).c_str(),
                                                    takes_whole ? ", bf16 or i32" : " or bf16"));
}

// The shape of `x` without an axis. heed has no rank 0: [n] becomes [1].
TensorInfo without(Build& build, TensorInfo x, int axis) {
  const auto at = static_cast<size_t>(axis);
  if (x.rank == 1) {
    x.dims[0] = build.data().sizes.constant(1);
    return x;
  }
  std::copy(x.dims.begin() + axis + 1, x.dims.begin() + x.rank, x.dims.begin() + static_cast<ptrdiff_t>(at));
  --x.rank;
  return x;
}

// Reduces one axis of a contiguous tensor.
Tensor reduce_axis(Build& build, Tensor x, const ReduceAttrs& attrs, DType dtype, Tensor mask = {}) {
  const Tensor result = build.add_like(without(build, build.info(x), attrs.axis), dtype);
  build.add_node(Op::Reduce, {x, mask}, result, attrs);
  return result;
}

// Merges axes first .. last of a contiguous tensor.
Tensor merged(Build& build, Tensor x, int first, int last) {
  if (first == last) return x;
  TensorInfo view = build.info(x);
  view.name.clear();
  view.dims[static_cast<size_t>(first)] = build.elements(view, first, last + 1);
  std::copy(view.dims.begin() + last + 1, view.dims.begin() + view.rank, view.dims.begin() + first + 1);
  view.rank -= last - first;
  build.make_contiguous(&view);
  return build.add_view(view, view.storage);
}

// Views a contiguous tensor with these dims.
Tensor reshaped(Build& build, Tensor x, TensorInfo to) {
  if (build.same_shape(build.info(x), to)) return x;
  to.name.clear();
  to.dtype = build.info(x).dtype;
  build.make_contiguous(&to);
  return build.add_view(to, build.info(x).storage);
}

// Adjacent axes are reduced as one; groups of them go from the last to the first. If a group would make long sums, its last axis is reduced
// first, alone, so that more workgroups share the work. Intermediate results of floating-point types are F32.
Tensor reduce_axes(Build& build, Tensor x, Reduction kind, const std::array<bool, kMaxRank>& is_reduced) {
  constexpr int64_t kMostAtOnce = 16384;
  const TensorInfo from = build.info(x);
  const auto reduced = [&](int axis) { return axis >= 0 && is_reduced[static_cast<size_t>(axis)]; };
  const int steps_end = static_cast<int>(std::find(is_reduced.begin(), is_reduced.end(), true) - is_reduced.begin());
  const bool rounds = from.dtype != DType::I32 && kind != Reduction::Max && kind != Reduction::Min;
  x = build.contiguous(x);
  for (int last = from.rank - 1; last >= steps_end; --last) {
    if (!reduced(last)) continue;
    int first = last;
    int64_t length = build.max_of(from.dims[static_cast<size_t>(last)]);
    for (; reduced(first - 1); --first) {
      const int64_t size = build.max_of(from.dims[static_cast<size_t>(first - 1)]);
      if (size > kMostAtOnce / std::max<int64_t>(length, 1)) break;
      length *= size;
    }
    x = reduce_axis(build, merged(build, x, first, last), {first, kind},
                    first > steps_end && rounds ? DType::F32 : from.dtype);
    last = first;
  }
  return x;
}

// Fills *is_reduced; an empty `axes` means all of them.
bool find_axes(Build& build, std::span<const int> axes, int rank, std::array<bool, kMaxRank>* is_reduced) {
  is_reduced->fill(false);
  for (const int axis : axes) {
    const int counted = build.axis_of(axis, rank);
    if (counted < 0) return false;
    if (std::exchange((*is_reduced)[static_cast<size_t>(counted)], true))
      return build.refuse(Status::InvalidArgument, format("axis %d is named twice", axis));
  }
  if (axes.empty()) std::fill_n(is_reduced->begin(), rank, true);
  return true;
}

// One index for each element along the other axes, or `count` in order.
Tensor indices_of(Build& build, Tensor x, const ArgmaxAttrs& attrs, bool keep) {
  TensorInfo out = build.info(x);
  out.dims[static_cast<size_t>(attrs.axis)] = build.data().sizes.constant(attrs.count);
  if (!keep) out = without(build, out, attrs.axis);
  const Tensor result = build.add_like(out, DType::I32);
  build.add_node(Op::Argmax, {x}, result, attrs);
  return result;
}

Tensor first_index(Build& build, Tensor x, ArgmaxAttrs attrs, int axis, bool keep) {
  if (!build.needs({x}) || !check_type(build, x, true)) return {};
  attrs.axis = build.axis_of(axis, build.info(x).rank);
  return attrs.axis < 0 ? Tensor{} : indices_of(build, x, attrs, keep);
}

}  // namespace

Tensor detail::sum(GraphData& data, Tensor x, int axis) {
  Build build(data, "sum");
  if (!build.needs({x})) return {};
  return reduce_axis(build, build.contiguous(x), {axis, Reduction::Sum}, build.info(x).dtype);
}

Tensor detail::cumsum(GraphData& data, Tensor x, const CumsumAttrs& attrs) {
  Build build(data, "cumsum");
  if (!build.needs({x})) return {};
  const TensorInfo info = build.info(x);
  const Tensor result = build.add_like(info, info.dtype);
  build.add_node(Op::Cumsum, {x}, result, attrs);
  return result;
}

Tensor Graph::mean(Tensor x, int axis, Mask mask) {
  Build build(*data_, "mean");
  if (!build.needs({x}) || !build.allows({mask.tensor}) || !check_type(build, x, false)) return {};
  const TensorInfo info = build.info(x);
  const int counted = build.axis_of(axis, info.rank);
  if (counted < 0) return {};
  if (mask.tensor.valid()) {
    if (!detail::has_meaning(mask))
      return build.fail(Status::InvalidArgument,
                        format("there is no meaning %d of a mask", static_cast<int>(mask.meaning)));
    const TensorInfo& m = build.info(mask.tensor);
    if (m.dtype != DType::U8)
      return build.fail(Status::DTypeMismatch, format("mask %s must be u8", build.text(mask.tensor).c_str()));
    if (counted != 1 || m.rank != 2 || m.dims[0] != info.dims[0] || m.dims[1] != info.dims[1])
      return build.fail(Status::ShapeMismatch, format("mask %s for axis %d of %s; [B, S] for axis 1 is needed",
                                                      build.text(mask.tensor).c_str(), axis, build.text(x).c_str()));
  }
  const Tensor dense = build.contiguous(x);
  const Tensor dense_mask = mask.tensor.valid() ? build.contiguous(mask.tensor) : Tensor{};
  return reduce_axis(build, dense, {counted, Reduction::Mean, mask.meaning}, info.dtype, dense_mask);
}

Tensor Graph::sum(Tensor x, int axis) {
  Build build(*data_, "sum");
  if (!build.needs({x}) || !check_type(build, x, true)) return {};
  const int counted = build.axis_of(axis, build.info(x).rank);
  return counted < 0 ? Tensor{} : detail::sum(*data_, x, counted);
}

Tensor Graph::reduce(Tensor x, Reduction kind, std::initializer_list<int> axes, bool keep) {
  return reduce(x, kind, std::span<const int>(axes.begin(), axes.size()), keep);
}

Tensor Graph::reduce(Tensor x, Reduction kind, std::span<const int> axes, bool keep) {
  Build build(*data_, "reduce");
  if (!build.needs({x})) return {};
  if (kind > Reduction::L2)
    return build.fail(Status::InvalidArgument, format("there is no reduction %d", static_cast<int>(kind)));
  std::array<bool, kMaxRank> is_reduced{};
  if (!check_type(build, x, takes_whole(kind)) || !find_axes(build, axes, build.info(x).rank, &is_reduced)) return {};
  TensorInfo out = build.info(x);
  for (int axis = out.rank - 1; axis >= 0; --axis) {
    if (!is_reduced[static_cast<size_t>(axis)]) continue;
    if (keep)
      out.dims[static_cast<size_t>(axis)] = data_->sizes.constant(1);
    else
      out = without(build, out, axis);
  }
  return reshaped(build, reduce_axes(build, x, kind, is_reduced), out);
}

Tensor Graph::argmax(Tensor x, int axis, bool keep, bool last) {
  Build build(*data_, "argmax");
  return first_index(build, x, {.last = last}, axis, keep);
}

Tensor Graph::argmin(Tensor x, int axis, bool keep, bool last) {
  Build build(*data_, "argmin");
  return first_index(build, x, {.smallest = true, .last = last}, axis, keep);
}

TopKResult Graph::top_k(Tensor x, int64_t k, int axis, bool smallest) {
  Build build(*data_, "top_k");
  if (!build.needs({x}) || !check_type(build, x, true)) return {};
  const TensorInfo info = build.info(x);
  const int counted = build.axis_of(axis, info.rank);
  if (counted < 0) return {};
  if (k < 1 || k > build.least_of(info.dims[static_cast<size_t>(counted)])) {
    build.fail(Status::InvalidArgument, format("k is %lld; it must be 1 to the size of axis %d of %s",
                                               static_cast<long long>(k), axis, build.text(x).c_str()));
    return {};
  }
  const Tensor rows = build.add_transposed(x, counted, info.rank - 1);
  const Tensor indices =
      indices_of(build, rows, {.axis = info.rank - 1, .count = static_cast<uint32_t>(k), .smallest = smallest}, true);
  const Tensor values = take(rows, info.rank - 1, indices);
  if (build.failed()) return {};
  return {build.add_transposed(values, counted, info.rank - 1), build.add_transposed(indices, counted, info.rank - 1)};
}

Tensor Graph::cumsum(Tensor x, int axis, bool exclusive, bool reverse) {
  Build build(*data_, "cumsum");
  if (!build.needs({x}) || !check_type(build, x, false)) return {};
  const int counted = build.axis_of(axis, build.info(x).rank);
  return counted < 0 ? Tensor{} : detail::cumsum(*data_, x, {counted, exclusive, reverse});
}

}  // namespace heed

// Graph calls that rearrange elements: padding, repetition, reversal, and gather and scatter along any axis.
#include <algorithm>
#include <array>

#include "graph/build/backward.hpp"
#include "graph/build/build.hpp"

namespace heed {

using detail::Build;

namespace {

// The size of an axis. Records a mistake and returns 0 if it is not constant.
int64_t constant_size(Build& build, Tensor x, int axis) {
  const SizeId dim = build.info(x).dims[static_cast<size_t>(axis)];
  if (build.data().sizes.is_constant(dim)) return build.max_of(dim);
  build.fail(Status::Unsupported, format("axis %d of %s is not constant", axis, build.text(x).c_str()));
  return 0;
}

// Whether `places` has size 1 in all dims after the axis, so that whole rows are moved.
bool are_rows(const Build& build, const TensorInfo& places, int axis) {
  for (int i = axis + 1; i < places.rank; ++i)
    if (!build.data().sizes.is_constant(places.dims[static_cast<size_t>(i)], 1)) return false;
  return true;
}

// Records a mistake and returns false unless `places` has the rank of x and its dims except along the axis, or 1 on either side if x
// `may_broadcast`.
bool fit(Build& build, Tensor x, int axis, Tensor places, bool may_broadcast) {
  const TensorInfo &from = build.info(x), &named = build.info(places);
  const auto is_one = [&](SizeId size) { return build.data().sizes.is_constant(size, 1); };
  bool fits = named.rank == from.rank;
  for (size_t i = 0; fits && i < static_cast<size_t>(from.rank); ++i)
    fits = static_cast<int>(i) == axis || named.dims[i] == from.dims[i] || is_one(named.dims[i]) ||
           (may_broadcast && is_one(from.dims[i]));
  if (fits && named.dtype == DType::I32) return true;
  build.fail(fits ? Status::DTypeMismatch : Status::ShapeMismatch,
             format("places %s for axis %d of %s; i32 of the same rank, and of the same other sizes or 1, is needed",
                    build.text(places).c_str(), axis, build.text(x).c_str()));
  return false;
}

// For each of `count` positions along the axis, the sum of the values that have this position.
Tensor sums_at(Graph& g, Build& build, Tensor values, int axis, Tensor places, SizeId count) {
  const int last = build.info(values).rank - 1;
  if (!are_rows(build, build.info(places), axis)) {
    if (axis == last) {
      places = g.expand(places, build.shape_of(build.info(values)));
    } else {
      const Tensor turned =
          sums_at(g, build, g.transpose(values, axis, last), last, g.transpose(places, axis, last), count);
      return turned.valid() ? g.transpose(turned, axis, last) : Tensor{};
    }
  }
  TensorInfo shape = build.info(values);
  const SizeId length = shape.dims[static_cast<size_t>(axis)];
  const SizeId outer = build.elements(shape, 0, axis), inner = build.elements(shape, axis + 1, last + 1);
  Shape named = build.shape_of(shape);
  for (int i = axis + 1; i <= last; ++i) named[i] = 1;
  const Dim rows = build.dim_of(outer), each = build.dim_of(length);
  const Tensor flat = g.reshape(values, {rows, each, build.dim_of(inner)});
  const Tensor ids = g.reshape(g.expand(places, named), {rows, each});
  const Tensor sums = detail::embedding_backward(build.data(), flat, ids, count);
  shape.dims[static_cast<size_t>(axis)] = count;
  return g.reshape(sums, build.shape_of(shape));
}

// The axis counted from the front. Records a mistake and returns -1 if x, places and values do not fit together.
int axis_of_scatter(Build& build, Tensor x, int axis, Tensor places, Tensor values) {
  if (!build.needs({x, places, values})) return -1;
  const TensorInfo &to = build.info(x), &from = build.info(values);
  const int counted = build.axis_of(axis, to.rank);
  if (counted < 0) return -1;
  TensorInfo wanted = to;
  if (from.rank == to.rank) wanted.dims[static_cast<size_t>(counted)] = from.dims[static_cast<size_t>(counted)];
  if (!is_float(to.dtype) || from.dtype != to.dtype || !build.same_shape(from, wanted)) {
    const bool fits = is_float(to.dtype) && from.dtype == to.dtype;
    build.fail(fits ? Status::ShapeMismatch : Status::DTypeMismatch,
               format("values %s for axis %d of %s; f32, f16 or bf16 of one type, and the same other sizes, are needed",
                      build.text(values).c_str(), axis, build.text(x).c_str()));
    return -1;
  }
  const TensorInfo& named = build.info(places);
  const SizeId one = build.data().sizes.constant(1);
  if (!fit(build, values, counted, places, false)) return -1;
  const SizeId length = named.dims[static_cast<size_t>(counted)];
  if (length != from.dims[static_cast<size_t>(counted)] && length != one) {
    build.fail(Status::ShapeMismatch,
               format("places %s for values %s", build.text(places).c_str(), build.text(values).c_str()));
    return -1;
  }
  return counted;
}

}  // namespace

Tensor Graph::flip(Tensor x, int axis) {
  Build build(*data_, "flip");
  if (!build.needs({x})) return {};
  const int counted = build.axis_of(axis, build.info(x).rank);
  const int64_t size = counted < 0 ? 0 : constant_size(build, x, counted);
  if (size == 0) return {};
  const std::string name = format("reversed/%lld", static_cast<long long>(size));
  return take(x, counted, build.shared_places(name, size, [&](int64_t i) { return size - 1 - i; }));
}

Tensor Graph::tile(Tensor x, int axis, int64_t times) {
  Build build(*data_, "tile");
  if (!build.needs({x})) return {};
  TensorInfo shape = build.info(x);
  const int counted = build.axis_of(axis, shape.rank);
  if (counted < 0) return {};
  if (times < 1)
    return build.fail(Status::InvalidArgument,
                      format("%lld times; it must be at least 1", static_cast<long long>(times)));
  if (times == 1) return x;
  const Dim before = build.dim_of(build.elements(shape, 0, counted)),
            rest = build.dim_of(build.elements(shape, counted, shape.rank));
  SizeId& repeated = shape.dims[static_cast<size_t>(counted)];
  repeated = data_->sizes.mul(repeated, data_->sizes.constant(times));
  return reshape(expand(reshape(x, {before, 1, rest}), {before, times, rest}), build.shape_of(shape));
}

Tensor Graph::pad(Tensor x, int axis, int64_t before, int64_t behind, const PadOptions& options) {
  Build build(*data_, "pad");
  if (!build.needs({x})) return {};
  const int counted = build.axis_of(axis, build.info(x).rank);
  if (counted < 0) return {};
  constexpr int64_t kMost = int64_t{1} << 31;
  if (before < -kMost || before > kMost || behind < -kMost || behind > kMost || options.mode > Padding::Wrap)
    return build.fail(Status::InvalidArgument,
                      format("%lld before and %lld behind, mode %d", static_cast<long long>(before),
                             static_cast<long long>(behind), static_cast<int>(options.mode)));
  if (before < 0 || behind < 0) {
    x = slice(x, counted, std::max<int64_t>(-before, 0), -1 - std::max<int64_t>(-behind, 0));
    before = std::max<int64_t>(before, 0), behind = std::max<int64_t>(behind, 0);
    if (!x.valid()) return {};
  }
  if (before == 0 && behind == 0) return x;
  if (options.mode == Padding::Constant) {
    TensorInfo part = build.info(x);
    const bool is_narrow = is_float(part.dtype) && part.dtype != DType::F32;
    Tensor value = number(options.value, is_narrow ? DType::F32 : part.dtype);
    if (is_narrow && value.valid()) value = cast(value, part.dtype);
    if (!value.valid()) return {};
    const auto filled = [&](int64_t size) {
      part.dims[static_cast<size_t>(counted)] = data_->sizes.constant(size);
      return expand(value, build.shape_of(part));
    };
    std::vector<Tensor> parts;
    if (before > 0) parts.push_back(filled(before));
    parts.push_back(x);
    if (behind > 0) parts.push_back(filled(behind));
    return concat(parts, counted);
  }
  const int64_t size = constant_size(build, x, counted);
  if (size == 0) return {};
  if (options.mode == Padding::Reflect && std::max(before, behind) >= size)
    return build.fail(Status::InvalidArgument,
                      format("reflecting %lld elements takes an axis of more; axis %d of %s is too short",
                             static_cast<long long>(std::max(before, behind)), axis, build.text(x).c_str()));
  const auto of = [&](int64_t i) {
    const int64_t at = i - before;
    switch (options.mode) {
      case Padding::Reflect: return at < 0 ? -at : at < size ? at : 2 * (size - 1) - at;
      case Padding::Edge: return std::clamp<int64_t>(at, 0, size - 1);
      default: return (at % size + size) % size;
    }
  };
  const std::string name = format("pad/%d/%lld/%lld/%lld", static_cast<int>(options.mode), static_cast<long long>(size),
                                  static_cast<long long>(before), static_cast<long long>(behind));
  return take(x, counted, build.shared_places(name, before + size + behind, of));
}

Tensor Graph::gather(Tensor x, int axis, Tensor places) {
  Build build(*data_, "gather");
  if (!build.needs({x, places})) return {};
  const int last = build.info(x).rank - 1, counted = build.axis_of(axis, last + 1);
  if (counted < 0 || !fit(build, x, counted, places, true)) return {};
  if (counted < last && !are_rows(build, build.info(places), counted))
    return transpose(take(transpose(x, counted, last), last, transpose(places, counted, last)), counted, last);
  Shape rows = build.shape_of(build.info(places));
  rows.rank = counted + 1;
  return take(x, counted, reshape(places, rows));
}

Tensor Graph::scatter_add(Tensor x, int axis, Tensor places, Tensor values) {
  Build build(*data_, "scatter_add");
  const int counted = axis_of_scatter(build, x, axis, places, values);
  if (counted < 0) return {};
  const SizeId count = build.info(x).dims[static_cast<size_t>(counted)];
  return add(x, sums_at(*this, build, values, counted, places, count));
}

Tensor Graph::scatter(Tensor x, int axis, Tensor places, Tensor values) {
  Build build(*data_, "scatter");
  const int counted = axis_of_scatter(build, x, axis, places, values);
  if (counted < 0) return {};
  const TensorInfo all = build.info(values);
  const SizeId count = build.info(x).dims[static_cast<size_t>(counted)];
  // The number of values for each element, or for each row.
  Shape named = build.shape_of(all);
  if (are_rows(build, build.info(places), counted))
    for (int i = counted + 1; i < all.rank; ++i) named[i] = 1;
  const Tensor writers = sums_at(*this, build, expand(number(1.0), named), counted, places, count);
  return where(gt(writers, number(0.0)), sums_at(*this, build, values, counted, places, count), x);
}

}  // namespace heed

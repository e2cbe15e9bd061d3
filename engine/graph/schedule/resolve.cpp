// Computes sizes and views for one run. Allocates only to log a failure.
#include <algorithm>

#include "base/logging.hpp"
#include "graph/schedule/schedule.hpp"

namespace heed {

View resolve(const Schedule& schedule, Tensor tensor, const RunValues& values) {
  const TensorInfo& info = schedule.info(tensor);
  const auto value = [&](SizeId id) { return values.sizes[static_cast<size_t>(id)]; };
  View view;
  view.dtype = info.dtype;
  view.rank = info.rank;
  view.offset = value(info.offset);
  for (int i = 0; i < info.rank; ++i) {
    view.dim[i] = value(info.dims[static_cast<size_t>(i)]);
    view.stride[i] = value(info.strides[static_cast<size_t>(i)]);
  }
  if (!values.storage_offsets.empty()) view.offset += values.storage_offsets[info.storage];
  return view;
}

std::vector<int64_t> Schedule::max_shape(const TensorInfo& info) const {
  std::vector<int64_t> shape;
  for (int i = 0; i < info.rank; ++i)
    shape.push_back(max_values[static_cast<size_t>(info.dims[static_cast<size_t>(i)])]);
  return shape;
}

View per_row(View view) {
  view.dim[view.rank] = 1;
  view.stride[view.rank++] = 0;
  return view;
}

int64_t take_axis(View* view, int axis, int rank) {
  if (view->rank != rank) return 0;
  const int64_t stride = view->stride[axis];
  --view->rank;
  for (int i = axis; i < view->rank; ++i) {
    view->dim[i] = view->dim[i + 1];
    view->stride[i] = view->stride[i + 1];
  }
  return stride;
}

View broadcast_to(const View& view, const View& target) {
  View out = target;
  out.dtype = view.dtype;
  out.offset = view.offset;
  for (int i = 0; i < target.rank; ++i) {
    const int from = i - (target.rank - view.rank);
    out.stride[i] = from < 0 || (view.dim[from] == 1 && target.dim[i] != 1) ? 0 : view.stride[from];
  }
  return out;
}

Status set_extent(const Schedule& schedule, std::string_view name, int64_t value, const Log& log,
                  std::span<int64_t> extent_values) {
  for (size_t i = 0; i < schedule.extents.size(); ++i) {
    const detail::ExtentInfo& extent = schedule.extents[i];
    if (extent.name != name || extent.is_computed) continue;
    if (value < extent.least || value > extent.max)
      return fail(log, Status::ExtentOutOfRange,
                  format("extent '%s' is %lld; this plan takes %lld to %lld", extent.name.c_str(),
                         static_cast<long long>(value), static_cast<long long>(extent.least),
                         static_cast<long long>(extent.max)));
    if (extent_values[i] >= 0)
      return fail(log, Status::InvalidArgument, format("extent '%s' is given twice", extent.name.c_str()));
    extent_values[i] = value;
    return Status::Ok;
  }
  return fail(log, Status::NotFound,
              format("the plan has no extent '%.*s'", static_cast<int>(name.size()), name.data()));
}

Status finish_extents(const Schedule& schedule, const Log& log, std::span<int64_t> extent_values,
                      std::span<int64_t> sizes) {
  for (size_t i = 0; i < schedule.extents.size(); ++i) {
    if (extent_values[i] >= 0) continue;
    const detail::ExtentInfo& extent = schedule.extents[i];
    if (extent.is_computed) {
      std::string wrong;
      if (!compute(schedule.sizes, extent, extent_values, &extent_values[i], &wrong))
        return fail(log, Status::ExtentOutOfRange, wrong);
      continue;
    }
    if (extent.least > 0)
      return fail(log, Status::ExtentOutOfRange,
                  format("extent '%s' is not given; this plan takes %lld to %lld", extent.name.c_str(),
                         static_cast<long long>(extent.least), static_cast<long long>(extent.max)));
    extent_values[i] = 0;
  }
  schedule.sizes.evaluate(extent_values, sizes);  // cannot overflow below the maxima
  for (const detail::SizeBound& bound : schedule.bounds) {
    const int64_t size = sizes[static_cast<size_t>(bound.size)], limit = sizes[static_cast<size_t>(bound.limit)];
    if (size > limit)
      return fail(log, Status::ExtentOutOfRange,
                  format("%s end at %lld; there are %lld", bound.what.c_str(), static_cast<long long>(size),
                         static_cast<long long>(limit)));
  }
  return Status::Ok;
}

std::vector<ExtentValue> largest_extents(const Schedule& schedule) {
  std::vector<ExtentValue> all;
  for (const detail::ExtentInfo& extent : schedule.extents)
    if (extent.least > 0 && !extent.is_computed) all.push_back({extent.name, extent.max});
  return all;
}

WeightSpan span_of_weights(const Schedule& schedule, const Node& pass) {
  WeightSpan span;
  for (const Tensor input : pass.inputs) {
    if (!input.valid()) continue;
    const Placement& at = schedule.placement(input);
    if (at.space != Placement::Space::Weight) continue;
    span.begin = std::min(span.begin, at.offset);
    span.end = std::max(span.end, at.offset + at.bytes);
  }
  return span;
}

}  // namespace heed

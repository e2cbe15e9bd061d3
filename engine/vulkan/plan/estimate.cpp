// Estimates what a run takes, from measured times and the cost model.
#include <algorithm>

#include "base/logging.hpp"
#include "vulkan/plan/plan.hpp"
#include "vulkan/recording/split.hpp"

namespace heed::vulkan {

Status estimate(const Plan& plan, std::span<const ExtentValue> extents, const Cursor& cursor, Estimate* result) {
  const VulkanPlan* impl = plan_of(plan, "estimate");
  if (impl == nullptr) return Status::InvalidArgument;  // plan_of has logged it
  return result == nullptr ? refuse("estimate: result is null") : impl->estimate(extents, cursor, result);
}

Status VulkanPlan::estimate(std::span<const ExtentValue> extents, const Cursor& cursor, Estimate* result) const {
  std::vector<int64_t> extent_values(schedule_.extents.size()), sizes(schedule_.sizes.count());
  const Status status = resolve_extents(schedule_, extents, context_.log, extent_values, sizes);
  if (status != Status::Ok) return status;
  RunValues values;
  values.sizes = sizes;
  Estimate sum;
  double measured = 0;
  const double correction = times_.correction();
  auto list = std::make_unique<DispatchList>();
  for (size_t i = cursor.pass; i < passes_.size() && !cursor.at_end; ++i) {
    emit_dispatches(schedule_, schedule_.passes[i], context_.capabilities, passes_[i].kernels, values, list.get());
    const bool current = i == cursor.pass;
    for (uint32_t d = current ? cursor.dispatch : 0; d < list->count; ++d) {
      const Dispatch& dispatch = list->dispatches[d];
      const uint32_t pieces =
          split_dispatch(dispatch.groups, dispatch.work, dispatch_work_limit(context_.info.kind)).count();
      const uint32_t left = pieces - (current && d == cursor.dispatch ? std::min(cursor.piece, pieces) : 0);
      const double each = times_.of(i, dispatch.work / pieces, correction);
      sum.milliseconds += left * each;
      measured += times_.measured(i) ? left * each : 0;
      sum.dispatches += left;
      sum.longest = std::max(sum.longest, each);
    }
  }
  sum.measured = sum.milliseconds > 0 ? measured / sum.milliseconds : 0;
  *result = sum;
  return Status::Ok;
}

}  // namespace heed::vulkan

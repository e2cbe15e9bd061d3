// Only Vulkan devices are tuned: the CPU device has one kernel for matmuls, and one for attention.
#include <heed/tuning.hpp>

#include "base/logging.hpp"
#include "graph/schedule/backend.hpp"
#ifdef HEED_VULKAN
#include "vulkan/tune/tune.hpp"
#endif

namespace heed {

Status tune(Device& device, const TuningOptions& options, TuningReport* report) {
  if (!device.valid() || report == nullptr) return refuse("tune: device is empty, or report is null");
  if (options.time_limit_ms == 0)
    return fail(device.impl()->log(), Status::InvalidArgument, "tune: time_limit_ms is 0; at least 1 is needed");
  *report = {};
#ifdef HEED_VULKAN
  if (device.impl()->backend() == detail::Backend::Vulkan) return vulkan::tune(device, options, report);
#endif
  return Status::Ok;
}

Status use_tuning(Device& device, std::span<const std::byte> blob) {
  if (!device.valid()) return refuse("use_tuning: device is empty");
#ifdef HEED_VULKAN
  if (device.impl()->backend() == detail::Backend::Vulkan) return vulkan::use_tuning(device, blob);
#endif
  (void)blob;
  return fail(device.impl()->log(), Status::Unsupported, "use_tuning: the CPU device has nothing to choose");
}

}  // namespace heed

#include "vulkan/recording/pass_times.hpp"

#include <algorithm>
#include <bit>

#include "vulkan/recording/split.hpp"

namespace heed::vulkan {
namespace {

// The time of a dispatch and its barrier with almost no work.
constexpr double kDispatchMs = 0.005;
// Waits end after this time. If a pass seems to take longer, its counter was reset between two timestamps.
constexpr double kLongestMs = 600'000;

}  // namespace

void PassTimes::create(size_t passes, DeviceKind kind) {
  count_ = passes;
  model_ms_per_work_ = 10.0 / dispatch_work_limit(kind);
  samples_ = std::make_unique<std::atomic<uint64_t>[]>(passes);
}

PassTimes::Sample PassTimes::load(size_t pass) const {
  return std::bit_cast<Sample>(samples_[pass].load(std::memory_order_relaxed));
}

void PassTimes::learn(size_t pass, double work, double milliseconds) {
  if (milliseconds > kLongestMs) return;
  // Timestamps may have a resolution of only a microsecond.
  milliseconds = std::max(milliseconds, 1e-6);
  work = std::max(work, 1.0);
  const Sample old = load(pass);
  if (old.milliseconds > 0) milliseconds = 0.5 * (milliseconds + double{old.milliseconds} * work / double{old.work});
  const Sample fresh = {static_cast<float>(milliseconds), static_cast<float>(work)};
  samples_[pass].store(std::bit_cast<uint64_t>(fresh), std::memory_order_relaxed);
}

double PassTimes::model(double work) const { return kDispatchMs + work * model_ms_per_work_; }

double PassTimes::of(size_t pass, double work, double correction) const {
  const Sample sample = load(pass);
  if (sample.milliseconds > 0) return double{sample.milliseconds} * std::max(work, 1.0) / double{sample.work};
  return correction * model(work);
}

double PassTimes::correction() const {
  double measured = 0, modelled = 0;
  for (size_t i = 0; i < count_; ++i) {
    const Sample sample = load(i);
    if (sample.milliseconds <= 0) continue;
    measured += double{sample.milliseconds};
    modelled += model(double{sample.work});
  }
  return modelled == 0 ? 1.0 : std::clamp(measured / modelled, 1e-4, 1e4);
}

}  // namespace heed::vulkan

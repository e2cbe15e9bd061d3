#include "vulkan/recording/hazards.hpp"

#include <algorithm>

namespace heed::vulkan {
namespace {

bool overlaps(const Access& a, const Access& b) {
  return a.buffer == b.buffer && std::max(a.begin, b.begin) < std::min(a.end, b.end);
}

}  // namespace

bool HazardTracker::enter(std::span<const Access> accesses) {
  bool barrier = conflicts(accesses);
  if (barrier) count_ = 0;
  for (const Access& access : accesses) {
    if (remember(access)) continue;
    // Full: the barrier empties the list, which then has this dispatch only. A dispatch has at most kMaxBindings accesses, which is less
    // than kCapacity.
    barrier = true;
    count_ = 0;
    for (const Access& again : accesses) remember(again);
    break;
  }
  return barrier;
}

bool HazardTracker::conflicts(std::span<const Access> accesses) const {
  for (const Access& access : accesses) {
    for (uint32_t i = 0; i < count_; ++i) {
      if ((access.write || pending_[i].write) && overlaps(access, pending_[i])) return true;
    }
  }
  return false;
}

bool HazardTracker::remember(const Access& access) {
  if (access.begin >= access.end) return true;
  // Several consecutive dispatches often read the same range (the input of q, k and v projections).
  for (uint32_t i = 0; i < count_; ++i) {
    Access& known = pending_[i];
    if (known.write != access.write || !overlaps(known, access)) continue;
    known.begin = std::min(known.begin, access.begin);
    known.end = std::max(known.end, access.end);
    return true;
  }
  if (count_ == kCapacity) return false;
  pending_[count_++] = access;
  return true;
}

}  // namespace heed::vulkan

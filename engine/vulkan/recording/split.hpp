// Splits one dispatch into pieces, so that none triggers a driver's watchdog or delays the host's frame.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <heed/device.hpp>

#include "base/arith.hpp"

namespace heed::vulkan {

// The work (floating-point operations, or bytes if more) of one dispatch that takes about 10 ms on a slow device of its kind: 100 GFLOP/s
// for integrated and software devices, 1 TFLOP/s for discrete ones.
constexpr double dispatch_work_limit(DeviceKind kind) { return kind == DeviceKind::DiscreteGpu ? 1e10 : 1e9; }

// Pieces per axis. z is split first, then y, then x: kernels use x for the fastest-varying tile index, so pieces along z share the least
// data.
struct Split {
  std::array<uint32_t, 3> pieces = {1, 1, 1};
  uint32_t count() const { return pieces[0] * pieces[1] * pieces[2]; }
};

inline Split split_dispatch(const std::array<uint32_t, 3>& groups, double work, double limit) {
  Split split;
  // The most pieces. A dispatch with more work exceeds the limit instead of filling the command buffer.
  constexpr double kMaxPieces = 4096;
  uint32_t wanted = static_cast<uint32_t>(std::clamp(work / limit, 0.0, kMaxPieces - 1)) + 1;
  if (work <= limit) wanted = 1;
  for (size_t axis = 3; axis-- > 0;) {
    split.pieces[axis] = std::clamp(wanted, 1u, std::max(groups[axis], 1u));
    wanted = ceil_div(wanted, split.pieces[axis]);
  }
  return split;
}

// Groups begin .. end-1 of piece `index`, one of `pieces` of nearly equal size.
struct GroupRange {
  uint32_t begin = 0;
  uint32_t end = 0;
};
inline GroupRange piece_of(uint32_t groups, uint32_t pieces, uint32_t index) {
  const auto bound = [&](uint64_t i) { return static_cast<uint32_t>(uint64_t{groups} * i / pieces); };
  return {bound(index), bound(uint64_t{index} + 1)};
}

}  // namespace heed::vulkan

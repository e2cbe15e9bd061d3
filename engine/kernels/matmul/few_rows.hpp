// Workgroup sizes of kernels in which invocations share the sum over k: matmul_vector.comp and projection.comp, for few rows.
#pragma once

#include <algorithm>

#include "kernels/dispatch.hpp"

namespace heed::kernels {

inline constexpr uint32_t kMostAlongK = 128;

// Small subgroups are executed sequentially on a CPU, or share a small core, where adding up the results of many would take longer than the
// multiplications. Workgroups that reduce by subgroup operations are then a single subgroup, or two of four lanes.
constexpr bool has_small_subgroups(const Capabilities& device) { return device.subgroup_size <= 8; }

// Invocations of such a workgroup: eight, or four subgroups, but at most 128 as without subgroup operations.
constexpr uint32_t invocations_along_k(const Capabilities& device) {
  if (has_small_subgroups(device)) return 8;
  return std::clamp(4 * device.subgroup_size, 32u, kMostAlongK);
}

}  // namespace heed::kernels

// Sizes of workgroups in which invocations divide k among them. matmul_vector.comp and projection.comp, the kernels for few rows,
// share them.
#pragma once

#include <algorithm>

#include "kernels/dispatch.hpp"

namespace heed::kernels {

inline constexpr uint32_t kMostAlongK = 128;

// Small subgroups run one after the other on a CPU, or share a small core: adding what many of them have would take longer than
// the products. A workgroup that adds up by subgroups is then a single one, or two of four lanes.
constexpr bool has_small_subgroups(const Capabilities& device) { return device.subgroup_size <= 8; }

// Invocations of such a workgroup: eight, or four subgroups, but at most 128 as without subgroup operations.
constexpr uint32_t invocations_along_k(const Capabilities& device) {
  if (has_small_subgroups(device)) return 8;
  return std::clamp(4 * device.subgroup_size, 32u, kMostAlongK);
}

}  // namespace heed::kernels

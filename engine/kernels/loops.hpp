// Loop iterations of an invocation.
#pragma once

#include "kernels/dispatch.hpp"

namespace heed::kernels {

// The most loop iterations of an invocation on any device, because of watchdogs; and on llvmpipe, which silently ends all loops of an
// invocation after that many (Capabilities::most_rounds).
inline constexpr int64_t kMostRounds = 1 << 20, kLlvmpipeRounds = 65535;
// Lowering splits work that is likely to exceed this into several dispatches.
inline constexpr int64_t kRoundsAtOnce = 60 << 10;

// An upper bound on the iterations of all loops of one invocation of a dispatch, including the last check of each loop. Not counted are
// loops over small constants, which compilers unroll, and the handling of infinite values and NaN in kernels for matrix units.
int64_t rounds_of(const KernelKey& key, const Dispatch& dispatch);
// Whether rounds_of knows the kernel; it treats others as unbounded.
bool counts_rounds(KernelId id);

// How many blocks of rows a kernel of attention's gradients may visit per head before its iterations exceed kRoundsAtOnce.
int64_t visits_at_once(const KernelKey& key);

// Unsupported, with the operation and the number, if a dispatch has more than kMostRounds or Capabilities::most_rounds iterations. `at` has
// the largest sizes of the plan.
Status check_rounds(const Schedule& schedule, const Node& node, const Capabilities& device, const Log& log,
                    const KernelList& kernels, const RunValues& at);

}  // namespace heed::kernels

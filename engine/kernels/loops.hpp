// How long a kernel keeps an invocation.
#pragma once

#include "kernels/dispatch.hpp"

namespace heed::kernels {

// Rounds of loops of an invocation on any device, so that no watchdog waits for one; and those after which llvmpipe ends all loops of an
// invocation without a word (Capabilities::most_rounds).
inline constexpr int64_t kMostRounds = 1 << 20, kLlvmpipeRounds = 65535;
// Lowering cuts what is likely to have more into several dispatches, each within this.
inline constexpr int64_t kRoundsAtOnce = 60 << 10;

// Rounds of all loops of one invocation of a dispatch, at most. The round that finds the end of a loop counts, too. Loops that
// compilers unroll do not count: those over small constants. Nor does what kernels for matrix units do about infinite values and
// NaN.
int64_t rounds_of(const KernelKey& key, const Dispatch& dispatch);
// Whether rounds_of knows the kernel; it takes any other to have no end.
bool counts_rounds(KernelId id);

// Blocks of rows that a kernel of attention's gradients may visit for each head within kRoundsAtOnce.
int64_t visits_at_once(const KernelKey& key);

// Unsupported, with the operation and the number, if a dispatch has more than kMostRounds or Capabilities::most_rounds.
// `at`: the largest sizes that a plan is made for.
Status check_rounds(const Schedule& schedule, const Node& node, const Capabilities& device, const Log& log,
                    const KernelList& kernels, const RunValues& at);

}  // namespace heed::kernels

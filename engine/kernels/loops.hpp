// How long a kernel keeps an invocation.
#pragma once

#include "kernels/dispatch.hpp"

namespace heed::kernels {

// Rounds of all loops of one invocation of a dispatch, at most. The round that finds the end of a loop counts, too. Loops that
// compilers unroll do not count: those over small constants. Nor does what kernels for matrix units do about infinite values and
// NaN.
int64_t rounds_of(const KernelKey& key, const Dispatch& dispatch);

// Unsupported, with the operation and the number, if a dispatch has more rounds than the device does (Capabilities::most_rounds).
// `at`: the largest sizes that a plan is made for.
Status check_rounds(const Schedule& schedule, const Node& node, const Capabilities& device, const Log& log,
                    const KernelList& kernels, const RunValues& at);

}  // namespace heed::kernels

// Attention over splits of the keys ("flash decoding"): where queries and heads are too few to fill a GPU with workgroups,
// each goes over a part of the keys and leaves what it found in the step's workspace; a second pass combines the parts.
#pragma once

#include "kernels/lowering.hpp"

namespace heed::kernels {

// More workgroups than this are never split.
inline constexpr int64_t kMostGroups = 4096;

// Parts of the keys for `groups` workgroups of this size: 1 where they fill the device already, or the keys are few.
int64_t splits_for(const Capabilities& device, int64_t groups, uint32_t invocations, int64_t keys);

// Whether the second pass may be used for this attention.
bool can_combine(const Need& need);
// Elements of workspace for at most this many queries and splits: 0 for one split.
int64_t split_elements(const Need& need, int64_t most_queries, int64_t splits);
// As many of these splits as the workspace holds, with none of them empty: each begins at a multiple of `tile` keys.
int64_t splits_that_fit(const Emit& emit, int64_t splits, int64_t tile);

// What to bind for the log-sum-exp. Where it is not wanted the binding must still hold some buffer; it counts as written, so
// that it is one that the kernel writes.
Tensor log_sum_exp_or_output(const Node& node);

bool is_combine(const KernelUse& use);
void add_combine(const Select& select, int64_t d_v, uint32_t flags);
void emit_combine(const Emit& emit, uint32_t splits);

}  // namespace heed::kernels

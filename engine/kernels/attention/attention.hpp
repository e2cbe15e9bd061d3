// Declarations shared by the files of fused attention. Each family of kernels lists its kernels and their costs in a file:
// attention_tiles.cpp, attention_vector.cpp, attention_matrix.cpp.
#pragma once

#include "kernels/choose/chooser.hpp"
#include "shared/attention_matrix.h"
#include "shared/attention_tiles.h"
#include "shared/attention_vector.h"

namespace heed::kernels::attention {

using Spec = AttentionConstants;
using TileSpec = AttentionTileConstants;
using VectorSpec = AttentionVectorConstants;
using MatrixSpec = AttentionMatrixConstants;

constexpr size_t kOutBinding = 6, kLogSumExpBinding = 7;
constexpr size_t kFirstBlock = kLogSumExpBinding;  // partial kernels have no log-sum-exp, but a first block

// Number of elements of a key and of a value of one head.
struct Heads {
  int64_t d_k = 0, d_v = 0;
};
Heads heads_of(const SizeTable& sizes, std::span<const TensorInfo> tensors, const Node& node);

// Cost factor for a run with fewer workgroups than Traits::least_groups, where cores idle at barriers, or with more keys than Traits::most,
// which would be split.
inline constexpr double kPoorFitPenalty = 2.0;

// The sizes of an attention in one run.
struct Problem {
  int64_t queries = 1, keys = 1, heads = 1, head_size = 1;
  bool vec4 = false, vec8 = false;  // queries, keys and values can be read four, or eight, elements at once

  // Traits::rows is the number of queries of a workgroup. The unit is the time of a workgroup of attention.comp for few queries.
  double cost(const Traits& traits) const {
    const int64_t groups = ceil_div<int64_t>(queries, traits.rows);
    const bool fits = groups * heads >= traits.least_groups && keys <= traits.most;
    return traits.start + traits.group * static_cast<double>(groups) * (fits ? 1.0 : kPoorFitPenalty);
  }
  uint32_t size_class() const { return attention_class(queries, keys, heads, head_size); }
};

// The attention for which families list their kernels.
struct AttentionQuery {
  const Capabilities& device;
  DType dtype;  // type of queries, biases and the output
  bool narrow;  // keys and values are f16 or bf16 beside queries of f32
  Heads heads;
};

// The bindings of lengths and positions, which reuse those of absent masks. 0: not given. Joined ones share one binding, which may be that
// of the log-sum-exp if that is not an output.
struct RowBindings {
  uint32_t lengths = 0, positions = 0;
  bool fit = true;  // false: there are more inputs than bindings
};
RowBindings row_bindings(const Node& node);

uint32_t flags_of(const Select& select);
KernelUse& add(const Select& select, const Heads& heads, const Candidate& candidate, bool vec4);
// Adds a kernel whose workgroups process `queries` queries each.
Candidate& add_queries(Candidates* candidates, KernelId id, uint32_t invocations, uint32_t queries);

// Each family appends its kernels that support the attention. list_vector returns whether there are such kernels, for few queries.
bool list_vector(const AttentionQuery& attention, Candidates* candidates);
bool is_vector(KernelId id);
// Appends kernels for many queries and, if `for_few`, one for few. `without` is the reason why matrix units are not used, or null.
void list_tiles(const AttentionQuery& attention, const char* without, bool for_few, Candidates* candidates);
// Returns the reason why the device's matrix units are not used; null if they are used or the device has none.
const char* list_matrix(const AttentionQuery& attention, Candidates* candidates);
bool is_matrix(const KernelKey& key);

// Queries of one workgroup, and keys of one tile, for a kernel of any family.
uint32_t queries_of(const KernelKey& key);
uint32_t tile_keys_of(const KernelKey& key);
// The tensor to bind for the log-sum-exp. If that is not an output, the binding still needs a buffer and counts as written, so it gets the
// output, which the kernel writes anyway.
Tensor log_sum_exp_or_output(const Node& node);
// Fills all parameters except the blocks and the number of splits.
AttentionParams params_of(const Emit& emit, const View& q, const View& k, const View& v);

// A run and the kernel that was chosen for it. A block is the queries of one workgroup; blocks are numbered through all heads.
struct Work {
  const Problem& problem;
  const Heads& heads;
  const KernelUse& use;

  int64_t blocks_per_head() const { return ceil_div<int64_t>(problem.queries, use.traits.rows); }
  int64_t blocks() const { return blocks_per_head() * problem.heads; }
};
// Adds a dispatch for blocks begin .. end - 1, each with `splits` splits of the keys.
void emit_blocks(const Emit& emit, const Work& work, uint32_t kernel, AttentionParams p, int64_t begin, int64_t end,
                 int64_t splits);

// Splits of the keys, in attention_split.cpp. can_combine: whether the device may run the kernel that combines them.
bool can_combine(const Need& need);
// The most keys that a workgroup may process because of its running time; with more, the keys are split.
int64_t keys_in_time(const Capabilities& device, const Heads& heads, const KernelKey& key);
// Floats of workspace for the runs of this kernel; 0 if none is split.
int64_t split_elements(const Need& need, const Heads& heads, const Candidate& candidate);
// Adds the partial twin of a kernel, which processes one split of the keys, if any run may be split.
void add_partial(const Select& select, const Heads& heads, const Candidate& candidate, uint32_t kernel);
void add_combine(const Select& select, const Heads& heads);
// If the sums of all blocks do not fit the workspace, ranges of blocks use it in turn.
struct Splits {
  int64_t count = 1, ranges = 1;
};
Splits splits_of(const Emit& emit, const Work& work);
void emit_splits(const Emit& emit, const Work& work, AttentionParams p, const Splits& splits);

}  // namespace heed::kernels::attention

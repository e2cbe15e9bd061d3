// What the kernels of fused attention have in common. Each family of them has a file: attention_tiles.cpp,
// attention_subgroup.cpp, attention_matrix.cpp; attention.cpp chooses among them at each run.
#pragma once

#include <span>

#include "kernels/attention_split.hpp"

namespace heed::kernels::attention {

// As in shared/attention.glsl; what only one family has begins at kOwn.
enum Spec : size_t { kDk = 3, kDv, kFlags, kScale, kFill, kThreshold, kKeepScale, kGroup, kOwn };
// Of attention.comp; attention_subgroup.comp has the first two.
enum TileSpec : size_t { kLanes = kOwn, kTq, kTk, kBk, kPartials };
// Of attention_matrix.comp.
enum MatrixSpec : size_t { kWavesM = kOwn, kWavesN, kWm, kMatrixBk };
static_assert(size_t{kBk} == size_t{kMatrixBk});

constexpr size_t kOutBinding = 6, kLogSumExpBinding = 7;

// Elements of a key and of a value of one head.
struct Heads {
  int64_t d_k = 0, d_v = 0;
};
Heads heads_of(const SizeTable& sizes, std::span<const TensorInfo> tensors, const Node& node);

// How a kernel is cut into workgroups.
struct Cut {
  uint32_t invocations = 0;
  uint32_t queries = 0;              // of a workgroup
  int64_t most_queries = INT64_MAX;  // of a run that takes it
};
// Workspace for the splits of the keys that runs with this kernel may have.
int64_t workspace_of(const Need& need, const Cut& cut);

uint32_t flags_of(const Select& select);
// Adds a kernel with the constants that all of them have and `own`.
KernelUse& add(const Select& select, KernelId id, uint32_t invocations, const Heads& heads,
               std::span<const uint32_t> own, const char* why);
// Adds `use`, and behind it the same for splits of the keys if its runs may have them.
void add_with_splits(const Select& select, const Cut& cut, const KernelUse& use);

// --- Single subgroups, for software drivers

bool uses_subgroups(const Capabilities& device, DType dtype);
void add_subgroups(const Select& select, const Heads& heads);
bool is_subgroups(const KernelKey& key);

// --- Tiles in shared memory, for every device

// The cuts that runs may ask for: for many queries, for few.
struct Cuts {
  uint32_t count = 0;
  Cut cuts[2];
};
bool allows_tiles(const Capabilities& device, DType dtype);
int64_t few_queries(const Heads& heads);
// `only_few`: another kernel takes many queries.
Cuts tiles_for(const Need& need, const Heads& heads, bool only_few);
// `without`: why no other kernel takes many queries, or null.
void add_tiles(const Select& select, const Heads& heads, bool only_few, const char* without);

// --- Matrix units

struct Matrix {
  bool possible = false;
  const char* without = nullptr;  // why the device's matrix units are not used; null if it has none
  bool hold_queries = false;
  uint32_t waves_m = 0, waves_n = 0, wm = 0, bk = 0;
  uint32_t subgroup = 0;

  Cut cut() const { return {waves_m * waves_n * subgroup, waves_m * wm}; }
};
// `most_queries`: of any run; the fewer, the smaller the tiles.
Matrix matrix_for(const Capabilities& device, DType dtype, const Heads& heads, int64_t most_queries);
void add_matrix(const Select& select, const Heads& heads, const Matrix& matrix);
bool is_matrix(const KernelKey& key);

// Queries of one workgroup, of any of the families.
uint32_t queries_of(const KernelKey& key);
// All but the splits.
AttentionParams params_of(const Emit& emit, const View& q, const View& k, const View& v);

}  // namespace heed::kernels::attention

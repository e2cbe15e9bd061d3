// What the kernels of fused attention have in common. Each family of them has a file: attention_tiles.cpp,
// attention_subgroup.cpp, attention_matrix.cpp, attention_matrix_nv2.cpp; attention.cpp chooses among them at each run.
#pragma once

#include <array>
#include <span>

#include "kernels/attention_split.hpp"

namespace heed::kernels::attention {

// As in shared/attention.glsl; what only one family has begins at kOwn.
enum Spec : size_t { kDk = 3, kDv, kFlags, kScale, kFill, kThreshold, kKeepScale, kGroup, kOwn };
// Of attention.comp; attention_subgroup.comp has the first two.
enum TileSpec : size_t { kLanes = kOwn, kTq, kTk, kBk, kPartials };
// Of attention_matrix.comp.
enum MatrixSpec : size_t { kWavesM = kOwn, kWavesN, kWm, kMatrixBk };
// Of attention_matrix_nv2.comp.
enum WorkgroupMatrixSpec : size_t { kBm = kOwn, kPaddedK, kPaddedV, kWorkgroupMatrixBk };
static_assert(size_t{kBk} == size_t{kMatrixBk} && size_t{kBk} == size_t{kWorkgroupMatrixBk});

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

// A kernel that could run an attention.
struct Candidate {
  KernelId id{};
  Cut cut;
  uint32_t tile = 0;   // where its family lists it
  bool usual = false;  // rules ask for it; for others a tuning must
};
struct Candidates {
  uint32_t count = 0;
  std::array<Candidate, 16> list{};
  void add(const Candidate& candidate) { list[count++] = candidate; }
};

uint32_t flags_of(const Select& select);
// Adds a kernel with the constants that all of them have and `own`.
KernelUse& add(const Select& select, KernelId id, uint32_t invocations, const Heads& heads,
               std::span<const uint32_t> own, const char* why);
// Adds `use`, and behind it the same for splits of the keys if its runs may have them.
void add_with_splits(const Select& select, const Cut& cut, const KernelUse& use);

// --- Single subgroups, for software drivers

bool uses_subgroups(const Capabilities& device, DType dtype);
void list_subgroups(const Need& need, const Heads& heads, Candidates* candidates);
void add_subgroups(const Select& select, const Heads& heads, const Candidate& candidate);
bool is_subgroups(KernelId id);

// --- Tiles in shared memory, for every device

bool allows_tiles(const Capabilities& device, DType dtype);
int64_t few_queries(const Heads& heads);
// One for many queries, one for few. `usual`: rules ask for tiles; `only_few`: and another kernel takes many queries.
void list_tiles(const Need& need, const Heads& heads, bool usual, bool only_few, Candidates* candidates);
// `without`: why no other kernel takes many queries, or null.
void add_tiles(const Select& select, const Heads& heads, const Candidate& candidate, const char* without);

// --- Matrix units

// Why the device's matrix units are not used; null if they are, or if it has none. Of the kernels that fit the device the
// usual one is the first that `most_queries`, of any run, do not leave mostly empty.
const char* list_matrix(const Capabilities& device, DType dtype, const Heads& heads, int64_t most_queries,
                        Candidates* candidates);
void add_matrix(const Select& select, const Heads& heads, const Candidate& candidate);
bool is_matrix(const KernelKey& key);

// --- The same by VK_NV_cooperative_matrix2, where every head of queries, keys and values begins on 16 bytes

void list_workgroup_matrix(const Capabilities& device, DType dtype, const Heads& heads, int64_t most_queries,
                           Candidates* candidates);
void add_workgroup_matrix(const Select& select, const Heads& heads, const Candidate& candidate);
bool begins_on_16_bytes(const View& heads);

// Queries of one workgroup, of any of the families.
uint32_t queries_of(const KernelKey& key);
// All but the splits.
AttentionParams params_of(const Emit& emit, const View& q, const View& k, const View& v);

}  // namespace heed::kernels::attention

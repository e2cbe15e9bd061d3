// Attention on matrix units: attention_matrix.comp. Where it does not fit, the other kernels do it.
#include <algorithm>

#include "kernels/attention.hpp"

namespace heed::kernels::attention {
namespace {

// Subgroups along the queries and sharing queries, queries of a subgroup, keys per tile; in the order of preference.
struct Tile {
  uint32_t waves_m, waves_n, wm, bk;
  int64_t widest_head;           // wider ones would take too many registers
  int64_t widest_software_head;  // wider ones would take a driver for CPUs seconds to compile

  uint32_t queries() const { return waves_m * wm; }
  uint32_t waves() const { return waves_m * waves_n; }
  bool suits(const Heads& heads, bool software) const {
    return std::max(heads.d_k, heads.d_v) <= (software ? widest_software_head : widest_head);
  }
};
constexpr Tile kTiles[] = {
    {4, 1, 32, 32, 32, 4},  // every key and value in shared memory is used by 32 rows of matrix units
    {4, 1, 16, 32, 128, 8},  {2, 2, 16, 32, 256, 0},  // two subgroups share the outputs of wide heads
    {2, 1, 16, 16, 256, 32},                          // little shared memory
    {2, 2, 8, 16, 256, 256},                          // matrix units of eight rows
};

// Words of each invocation for its part of the queries. More are read from shared memory again for every tile.
constexpr int64_t kMostHeldWords = 32;

struct Fit {
  const Tile& tile;
  const MatrixSize& size;
  const Heads& heads;
  uint32_t lanes;

  int64_t padded_k() const { return align_up<int64_t>(heads.d_k, std::max(size.k, 8u)); }
  int64_t padded_v() const { return align_up<int64_t>(heads.d_v, std::max(size.n * tile.waves_n, 8u)); }
  bool hold_queries() const { return tile.wm * padded_k() / 2 <= kMostHeldWords * lanes; }

  // As attention_matrix.comp declares them: keys and queries, values, weights, logits, three words.
  int64_t shared_bytes() const {
    const int64_t rows = tile.bk + (hold_queries() ? 0 : tile.queries());
    return 2 * (rows * (padded_k() + 8) + padded_v() * (tile.bk + 8) + tile.queries() * (tile.bk + 8)) +
           4 * tile.queries() * (tile.bk + 4) + 12;
  }
  // Fragments divide what they make up, and the softmax has a part of a row of at least four for every invocation.
  bool divides() const {
    const uint32_t rows = tile.wm / tile.waves_n, parts = std::max(lanes / rows, 1u);
    return tile.wm % size.m == 0 && tile.bk % size.m == 0 && tile.bk % (size.n * tile.waves_n) == 0 &&
           tile.bk % size.k == 0 && parts * 4 <= tile.bk && rows * parts % lanes == 0;
  }
};

constexpr const char* kWhy = "fused, on matrix units, online softmax over key tiles; f16 storage, f32 sums";

}  // namespace

bool is_matrix(const KernelKey& key) { return key.id == KernelId::AttentionF16Matrix; }

const char* list_matrix(const Capabilities& device, DType dtype, const Heads& heads, int64_t most_queries,
                        Candidates* candidates) {
  if (device.matrix.m == 0 || !is_16_bit_float(dtype)) return nullptr;
  if (dtype == DType::BF16)
    return "fused, online softmax over key tiles; bf16 storage, f32 sums; not on matrix units, whose kernels "
           "take f16";
  if (!device.allows(KernelId::AttentionF16Matrix))
    return "fused, online softmax over key tiles; f16 storage, f32 sums; not on matrix units: failed the "
           "self-test";
  if (!device.subgroup_shuffle)
    return "fused, online softmax over key tiles; f16 storage, f32 sums; not on matrix units: no subgroup "
           "shuffles";
  bool found = false;
  for (const Tile& tile : kTiles) {
    const Fit fit = {tile, device.matrix, heads, device.matrix_subgroup};
    if (!tile.suits(heads, device.software) || !fit.divides() || fit.shared_bytes() > device.shared_bytes ||
        tile.waves() * device.matrix_subgroup > device.max_invocations)
      continue;
    const bool suits = tile.wm <= 16 || most_queries > tile.queries() / 2;
    const Cut cut = {tile.waves() * device.matrix_subgroup, tile.queries()};
    candidates->add({KernelId::AttentionF16Matrix, cut, static_cast<uint32_t>(&tile - kTiles), suits && !found});
    found = found || suits;
  }
  if (found) return nullptr;
  return "fused, online softmax over key tiles; f16 storage, f32 sums; not on matrix units: too little "
         "shared memory";
}

void add_matrix(const Select& select, const Heads& heads, const Candidate& candidate) {
  const Capabilities& device = select.device;
  const MatrixSize& size = device.matrix;
  const Tile& tile = kTiles[candidate.tile];
  const Fit fit = {tile, size, heads, device.matrix_subgroup};
  const uint32_t own[] = {tile.waves_m, tile.waves_n, tile.wm,   tile.bk,           size.m,
                          size.n,       size.k,       fit.lanes, fit.hold_queries()};
  KernelUse& use = add(select, candidate.id, candidate.cut.invocations, heads, own, kWhy);
  use.key.subgroup = device.matrix_subgroup;
  add_with_splits(select, candidate.cut, use);
}

}  // namespace heed::kernels::attention

// Which kernels with matrices of whole workgroups (VK_NV_cooperative_matrix2) an attention may use: attention_matrix_nv2.comp.
#include <algorithm>

#include "kernels/attention.hpp"

namespace heed::kernels::attention {
namespace {

// Queries of a workgroup, keys per tile; in the order of preference. What a tile takes of registers and shared memory is the
// driver's to fit.
struct WorkgroupTile {
  uint32_t bm, bk, invocations;
  int64_t widest_head;  // wider ones would take too many registers
};
constexpr WorkgroupTile kWorkgroupTiles[] = {{128, 64, 256, 128}, {64, 64, 128, 128}, {64, 32, 256, 256}};

constexpr const char* kWhy = "fused, on matrices of workgroups, online softmax over key tiles; f16 storage, f32 sums";

struct Fit {
  const WorkgroupTile& tile;
  const MatrixSize& size;  // of what the sizes of matrices are multiples
  const Heads& heads;

  // Heads are the sum of one product and the columns of the other.
  uint32_t padded_k() const { return u32(align_up<int64_t>(heads.d_k, std::max(size.k, 8u))); }
  uint32_t padded_v() const { return u32(align_up<int64_t>(heads.d_v, std::max(size.n, 8u))); }
  bool fits(uint32_t largest) const {
    return size.m != 0 && tile.bm % size.m == 0 && tile.bk % size.n == 0 && tile.bk % size.k == 0 &&
           std::max({padded_k(), padded_v(), tile.bm}) <= largest;
  }
};

Fit fit_of(const Capabilities& device, const Heads& heads, const WorkgroupTile& tile) {
  return {tile, tile.invocations == 128 ? device.workgroup_matrix_128 : device.workgroup_matrix_256, heads};
}

}  // namespace

void list_workgroup_matrix(const Capabilities& device, DType dtype, const Heads& heads, int64_t most_queries,
                           Candidates* candidates) {
  if (dtype != DType::F16 || !device.allows(KernelId::AttentionF16MatrixNv2)) return;
  bool found = false;
  for (const WorkgroupTile& tile : kWorkgroupTiles) {
    if (!fit_of(device, heads, tile).fits(device.workgroup_matrix_largest) ||
        std::max(heads.d_k, heads.d_v) > tile.widest_head || tile.invocations > device.max_invocations)
      continue;
    const bool suits = most_queries > tile.bm / 2 || tile.bm == 64;
    candidates->add({KernelId::AttentionF16MatrixNv2,
                     {tile.invocations, tile.bm},
                     static_cast<uint32_t>(&tile - kWorkgroupTiles),
                     suits && !found});
    found = found || suits;
  }
}

void add_workgroup_matrix(const Select& select, const Heads& heads, const Candidate& candidate) {
  const WorkgroupTile& tile = kWorkgroupTiles[candidate.tile];
  const Fit fit = fit_of(select.device, heads, tile);
  const uint32_t own[] = {tile.bm, fit.padded_k(), fit.padded_v(), tile.bk};
  KernelUse& use = add(select, candidate.id, tile.invocations, heads, own, kWhy);
  use.key.subgroup = select.device.matrix_subgroup;
  add_with_splits(select, candidate.cut, use);
}

bool begins_on_16_bytes(const View& heads) {
  constexpr int64_t kElements = 8;  // of f16
  if (heads.offset % kElements != 0) return false;
  for (const int i : {0, 1})
    if (heads.dim[i] > 1 && heads.stride[i] % kElements != 0) return false;
  return heads.stride[2] >= heads.dim[3];  // tensor layouts have no overlapping rows
}

}  // namespace heed::kernels::attention

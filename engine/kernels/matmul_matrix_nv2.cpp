// Which kernels with matrices of whole workgroups (VK_NV_cooperative_matrix2) a product may use: matmul_matrix_nv2.comp.
#include "kernels/matmul.hpp"

namespace heed::kernels::matmul {
namespace {

// A workgroup makes BM x BN. What a tile takes of registers and shared memory is the driver's to fit.
struct WorkgroupTile {
  uint32_t bm, bn, bk, invocations;
  double efficiency;  // times that of the largest tile without matrix units; above those of matmul_matrix.cpp
  const char* why;
};
constexpr WorkgroupTile kWorkgroupTiles[] = {
    {128, 256, 64, 256, 12.0, "matrices of workgroups, 128x256 tiles: many rows and columns; f16 storage, f32 sums"},
    {128, 128, 64, 256, 9.0, "matrices of workgroups, 128x128 tiles: many rows; f16 storage, f32 sums"},
    {64, 64, 64, 128, 6.0, "matrices of workgroups, 64x64 tiles; f16 storage, f32 sums"},
};

bool fits(const Select& select, const WorkgroupTile& tile) {
  const MatrixSize& size =
      tile.invocations == 128 ? select.device.workgroup_matrix_128 : select.device.workgroup_matrix_256;
  return size.m != 0 && tile.bm % size.m == 0 && tile.bn % size.n == 0 && tile.bk % size.k == 0 &&
         tile.bn <= select.device.workgroup_matrix_largest && tile.invocations <= select.device.max_invocations;
}

// Elements of f16 in 16 bytes, where tensor layouts begin.
constexpr int64_t kBase = 8;

}  // namespace

bool suits_workgroup_matrices(const Problem& problem) {
  for (const Problem::Operand* o : {&problem.a, &problem.b, &problem.out})
    if (o->offset % kBase != 0 || (problem.b0 > 1 && o->b0 % kBase != 0) || (problem.b1 > 1 && o->b1 % kBase != 0))
      return false;
  return problem.workspace == 0 || problem.m * problem.n % kBase == 0;  // of parts of k
}

void add_workgroup_matrices(const Select& select) {
  if (select.out().dtype != DType::F16 || !select.device.allows(KernelId::MatmulF16MatrixNv2)) return;
  for (const WorkgroupTile& tile : kWorkgroupTiles) {
    const bool last = &tile == std::end(kWorkgroupTiles) - 1;
    if (!fits(select, tile) || (!last && most_rows(select) <= tile.bm / 2)) continue;
    const uint32_t own[] = {tile.bk};
    KernelUse& use = add(select, KernelId::MatmulF16MatrixNv2, tile.invocations, {tile.bm, tile.bn}, own, 0, tile.why);
    use.key.subgroup = select.device.matrix_subgroup;
  }
}

double workgroup_matrices_cost(const Problem& problem, const KernelKey& key) {
  for (const WorkgroupTile& tile : kWorkgroupTiles)
    if (tile.bm == key.spec[kRows] && tile.bn == key.spec[kColumns]) return waves_cost(problem, key, tile.efficiency);
  return waves_cost(problem, key, 1.0);
}

}  // namespace heed::kernels::matmul

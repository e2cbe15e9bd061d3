// Which kernels with matrix units a product may use. Without a fitting one other kernels do it.
#include "kernels/matmul.hpp"

namespace heed::kernels::matmul {
namespace {

// A workgroup of four subgroups makes BM x BN, each of them WM x WN. Slices of 32 along k.
struct MatrixTile {
  uint32_t bm, bn, wm, wn;
  double efficiency;  // times that of the largest tile without matrix units
  const char* why;
};
constexpr uint32_t kSubgroups = 4, kBk = 32;
constexpr MatrixTile kMatrixTiles[] = {
    {128, 128, 64, 64, 8.0, "matrix units, 128x128 tiles: many rows; f16 storage, f32 sums"},
    {64, 64, 32, 32, 5.0, "matrix units, 64x64 tiles; f16 storage, f32 sums"},
    {32, 64, 32, 16, 3.0, "matrix units, 32x64 tiles: few rows; f16 storage, f32 sums"},
};

// More sums of one subgroup do not fit the registers, however small the fragments.
constexpr uint32_t kMaxFragments = 16;

// Slices lie in shared memory as vectors of so many halves, where fragments begin.
constexpr uint32_t kOctet = 8;

// Both slices in either layout, with 8 halves of padding for each of their rows, and a fragment of sums per
// subgroup.
uint32_t shared_bytes(const MatrixTile& tile, const MatrixSize& size) {
  const uint32_t longest = tile.bm > kBk ? tile.bm : kBk, wide = tile.bn > kBk ? tile.bn : kBk;
  return 2 * (tile.bm * kBk + 8 * longest + tile.bn * kBk + 8 * wide) + 4 * kSubgroups * size.m * size.n;
}

bool fits(const Select& select, const MatrixTile& tile) {
  const MatrixSize& size = select.device.matrix;
  return (size.m | size.n | size.k) % kOctet == 0 && tile.wm % size.m == 0 && tile.wn % size.n == 0 &&
         kBk % size.k == 0 && tile.wm / size.m * (tile.wn / size.n) <= kMaxFragments &&
         shared_bytes(tile, size) <= select.device.shared_bytes &&
         kSubgroups * select.device.matrix_subgroup <= select.device.max_invocations;
}

}  // namespace

bool add_matrix_units(const Select& select) {
  const MatrixSize& size = select.device.matrix;
  if (size.m == 0 || select.out().dtype != DType::F16) return false;
  if (!select.device.allows(KernelId::MatmulF16Matrix)) return false;
  bool added = false;
  for (const MatrixTile& tile : kMatrixTiles) {
    const bool last = &tile == std::end(kMatrixTiles) - 1;
    if (!fits(select, tile) || (!last && most_rows(select) <= tile.bm / 2)) continue;
    const uint32_t own[] = {kBk, tile.wm, tile.wn, size.m, size.n, size.k};
    KernelUse& use = add(select, KernelId::MatmulF16Matrix, kSubgroups * select.device.matrix_subgroup,
                         {tile.bm, tile.bn}, own, 0, tile.why);
    use.key.subgroup = select.device.matrix_subgroup;
    added = true;
  }
  return added;
}

double matrix_units_cost(const Problem& problem, const KernelKey& key) {
  for (const MatrixTile& tile : kMatrixTiles)
    if (tile.bm == key.spec[kRows] && tile.bn == key.spec[kColumns]) return waves_cost(problem, key, tile.efficiency);
  return waves_cost(problem, key, 1.0);
}

}  // namespace heed::kernels::matmul

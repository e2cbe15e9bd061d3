// Which kernels with matrix units a product may use. Without a fitting one the kernels of matmul.cpp do it.
#include "kernels/matmul_matrix.hpp"

namespace heed::kernels {
namespace {

// A workgroup of four subgroups makes BM x BN, each of them WM x WN. Slices of 32 along k.
struct MatrixTile {
  uint32_t bm, bn, wm, wn;
  double efficiency;  // as in matmul.cpp: times that of its largest tile
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

// Both slices in either layout, with 8 halves of padding for each of their rows, and a fragment of sums per
// subgroup.
uint32_t shared_bytes(const MatrixTile& tile, const MatrixSize& size) {
  const uint32_t longest = tile.bm > kBk ? tile.bm : kBk, wide = tile.bn > kBk ? tile.bn : kBk;
  return 2 * (tile.bm * kBk + 8 * longest + tile.bn * kBk + 8 * wide) + 4 * kSubgroups * size.m * size.n;
}

bool fits(const Select& select, const MatrixTile& tile) {
  const MatrixSize& size = select.device.matrix;
  return tile.wm % size.m == 0 && tile.wn % size.n == 0 && kBk % size.k == 0 &&
         tile.wm / size.m * (tile.wn / size.n) <= kMaxFragments &&
         shared_bytes(tile, size) <= select.device.shared_bytes &&
         kSubgroups * select.device.matrix_subgroup <= select.device.max_invocations;
}

}  // namespace

double matrix_efficiency(const KernelKey& key) {
  for (const MatrixTile& tile : kMatrixTiles)
    if (tile.bm == key.spec[matrix::kBm] && tile.bn == key.spec[matrix::kBn]) return tile.efficiency;
  return 1.0;
}

bool add_matrix_kernels(const Select& select, uint32_t flags, uint32_t activation, int64_t most_rows,
                        std::span<const size_t> inputs) {
  const MatrixSize& size = select.device.matrix;
  if (size.m == 0 || select.out().dtype != DType::F16) return false;
  if (!select.device.allows(KernelId::MatmulF16Matrix)) return false;
  bool added = false;
  for (const MatrixTile& tile : kMatrixTiles) {
    const bool last = &tile == std::end(kMatrixTiles) - 1;
    if (!fits(select, tile) || (!last && most_rows <= tile.bm / 2)) continue;
    KernelUse& use = add_kernel(select, KernelId::MatmulF16Matrix,
                                {kSubgroups * select.device.matrix_subgroup, 1, 1}, tile.why);
    use.key.subgroup = select.device.matrix_subgroup;
    use.key.spec_count = matrix::kSpecCount;
    use.key.spec[matrix::kBm] = tile.bm;
    use.key.spec[matrix::kBn] = tile.bn;
    use.key.spec[matrix::kBk] = kBk;
    use.key.spec[matrix::kWm] = tile.wm;
    use.key.spec[matrix::kWn] = tile.wn;
    use.key.spec[matrix::kFlags] = flags;
    use.key.spec[matrix::kActivation] = activation;
    use.key.spec[matrix::kMs] = size.m;
    use.key.spec[matrix::kNs] = size.n;
    use.key.spec[matrix::kKs] = size.k;
    bind(select, &use, inputs);
    added = true;
  }
  return added;
}

}  // namespace heed::kernels

// Kernels with tiles in shared memory, for every device: matmul.comp.
#include <algorithm>

#include "kernels/matmul/matmul.hpp"
#include "shared/matmul_tiles.h"

namespace heed::kernels::matmul {
namespace {

using Tiles = MatmulTileConstants;

constexpr Family kTileKernels = {
    KernelId::MatmulF32,
    KernelId::MatmulF16,
    KernelId::MatmulF32Narrow,
    KernelId::MatmulBf16,
    {KernelId::MatmulF32Quantized, KernelId::MatmulF16Quantized, KernelId::MatmulBf16Quantized}};

// A tiling of the matmul: tiles of bm x bn elements, tm x tn of them per invocation; bk of k at a time.
struct Tile {
  uint32_t bm, bn, bk, tm, tn;
  double efficiency;  // multiply-adds per time, relative to 64x64; larger tiles read memory less often
  Why why;

  constexpr uint32_t invocations() const { return (bm / tm) * (bn / tn); }
  // Registers for an invocation's sums, two blocks being loaded and the current factors.
  constexpr uint32_t registers() const { return tm * tn + 72; }
  constexpr uint32_t shared_bytes() const {
    using uint = uint32_t;
    const uint BM = bm, BN = bn, BK = bk;
    uint bytes = 0;
#include "shared/matmul_tiles_memory.inc"
    return bytes;
  }
};
// For devices with more than kManyRegisters, measured on lavapipe only.
constexpr Tile kManySums = {
    64, 128, 16, 16, 16, 1.85, HEED_MATMUL_WHY("64x128 tiles, 256 sums of an invocation: many rows and columns")};
constexpr Tile kTiles[] = {
    {128, 128, 16, 8, 8, 1.2, HEED_MATMUL_WHY("128x128 tiles: many rows and columns")},
    {128, 64, 16, 8, 4, 1.1, HEED_MATMUL_WHY("128x64 tiles: many rows")},
    {64, 64, 16, 8, 4, 1.0, HEED_MATMUL_WHY("64x64 tiles: many rows")},
    {16, 64, 32, 2, 4, 0.6, HEED_MATMUL_WHY("16x64 tiles: few rows")},
    {4, 64, 32, 2, 1, 0.25, HEED_MATMUL_WHY("4x64 tiles: up to 4 rows")},
};

// Whether a tile fits every device, as all but the two largest must.
constexpr bool fits_floor(const Tile& tile) {
  return tile.invocations() <= kFloorInvocations && tile.shared_bytes() <= kFloorSharedBytes;
}
static_assert(fits_floor(kTiles[2]) && fits_floor(kTiles[3]) && fits_floor(kTiles[4]));

// matmul.comp relies on this if its invocations divide the groups of four k of a block, or its rows or columns, which operands need that
// are not contiguous along k.
constexpr bool divides_depth(const Tile& tile) { return tile.invocations() % (tile.bk / 4) == 0; }
constexpr bool divides_rows(const Tile& tile) { return tile.invocations() % tile.bm == 0; }
constexpr bool divides_columns(const Tile& tile) { return tile.invocations() % tile.bn == 0 && tile.bn % 4 == 0; }
static_assert(std::all_of(std::begin(kTiles), std::end(kTiles), [](const Tile& tile) {
  return divides_depth(tile) && divides_rows(tile) && divides_columns(tile);
}));
static_assert(divides_depth(kManySums) && fits_floor(kManySums));

// Drivers take long to compile its sums if they have a fixed order, or if blocks of b are dequantized.
bool fits_many_sums(const Select& select) {
  const uint32_t flags = flags_of(select);
  return select.device.registers >= kManySums.registers() && !select.reproducible() &&
         !is_quantized(select.info(in::kB).dtype) && ((flags & HEED_MATMUL_A_K_FAST) != 0 || divides_rows(kManySums)) &&
         ((flags & HEED_MATMUL_B_K_FAST) != 0 || divides_columns(kManySums));
}

// Tiles beyond the guaranteed limits are for GPUs that support them; their registers decide which of the two is used. If two workgroups of
// the largest tile do not fit on a core, 64x64 is faster than either, unless blocks of b are dequantized for each tile (tests/gpu/h100).
bool fits(const Capabilities& device, const Tile& tile, bool quantized) {
  const bool share_core = device.core_registers / 2 >= kTiles[0].invocations() * kTiles[0].registers();
  if (!share_core && !quantized) return fits_floor(tile);
  const Tile& large = kTiles[share_core && device.registers >= kTiles[0].registers() ? 0 : 1];
  return fits_floor(tile) || (&tile == &large && tile.invocations() <= device.max_invocations &&
                              tile.shared_bytes() <= device.shared_bytes);
}

}  // namespace

void list_tiles(const Select& select, Candidates* candidates) {
  const Operands operands = operands_of(select);
  const auto add = [&](const Tile& tile) {
    const double group = tile.bm * tile.bn / tile.efficiency;
    Candidate& one = add_tile(candidates, kTileKernels.of(operands), tile.invocations(), tile.bm, tile.bn, group);
    one.set(Tiles::BK, tile.bk).set(Tiles::TM, tile.tm).set(Tiles::TN, tile.tn);
    one.reads_vec4 = true;
    one.why = tile.why.of(operands);
  };
  if (fits_many_sums(select)) add(kManySums);
  for (const Tile& tile : kTiles)
    if (fits(select.device, tile, is_quantized(select.info(in::kB).dtype))) add(tile);
}

}  // namespace heed::kernels::matmul

// Kernels of matmul on matrix units: matmul_matrix.comp.
#include "kernels/matmul.hpp"

namespace heed::kernels::matmul {
namespace {

using Matrix = MatmulMatrixConstants;

// A workgroup makes bm x bn elements, each of its subgroups wm x wn. It takes depth_of(terms) of k at a time.
struct MatrixTile {
  uint32_t bm, bn, wm, wn;
  uint32_t most_fragments;  // of a subgroup: more of sums would not fit its registers, however small they are
  double efficiency;        // multiply-adds of 16 bits per time, relative to 64x64 tiles without matrix units
  Why why;
  const char* why_emulated;

  uint32_t subgroups() const { return bm / wm * (bn / wn); }
};
// Two terms take no more shared memory than one, of which more would leave AMD's cores half of their subgroups.
constexpr uint32_t depth_of(uint32_t terms) { return 32 / terms; }
#define HEED_MATRIX_WHY(text) HEED_MATMUL_WHY(text), text "; f32 storage, two terms of f16, f32 sums"
// Twice as many subgroups of 64x32 fit the registers of a core as of 64x64, so that the largest tile has eight of them.
constexpr MatrixTile kMatrixTiles[] = {
    {128, 128, 64, 32, 8, 8.0, HEED_MATRIX_WHY("matrix units, 128x128 tiles: many rows")},
    {64, 64, 32, 32, 16, 5.0, HEED_MATRIX_WHY("matrix units, 64x64 tiles")},
    {32, 64, 32, 16, 16, 3.0, HEED_MATRIX_WHY("matrix units, 32x64 tiles: few rows")},
};

// Operands lie in shared memory as vectors of eight halves, where fragments begin.
constexpr uint32_t kOctet = 8;

// Elements of f32 lie there as two terms, and are multiplied by three products.
constexpr uint32_t kTerms = 2, kTermProducts = 3;
constexpr uint32_t kLargestBytes = 16;  // sh_largest of shared/matmul_terms.glsl

uint32_t shared_bytes(const MatrixTile& tile, const MatrixSize& size, uint32_t terms) {
  using uint = uint32_t;
  const uint BM = tile.bm, BN = tile.bn, BK = depth_of(terms), WM = tile.wm, WN = tile.wn, MS = size.m, NS = size.n;
  const bool A_K_FAST = BM > BK, B_K_FAST = BN > BK;  // the layouts with more rows, which take more padding
  uint bytes = terms == kTerms ? kLargestBytes : 0;
#define HEED_TERMS(vectors) (terms * (vectors))
#include "shared/matmul_matrix_memory.inc"
#undef HEED_TERMS
  return bytes;
}

bool fits(const Select& select, const MatrixTile& tile, const MatrixSize& size, uint32_t terms) {
  return (size.m | size.n | size.k) % kOctet == 0 && tile.wm % size.m == 0 && tile.wn % size.n == 0 &&
         depth_of(terms) % size.k == 0 && tile.wm / size.m * (tile.wn / size.n) <= tile.most_fragments &&
         shared_bytes(tile, size, terms) <= select.device.shared_bytes &&
         tile.subgroups() * select.device.matrix_subgroup <= select.device.max_invocations;
}

}  // namespace

void list_matrix_units(const Select& select, Candidates* candidates) {
  const Capabilities& device = select.device;
  const Operands operands = operands_of(select);
  const bool emulates = operands == Operands::F32 && select.schedule.emulate_f32, bfloat = operands == Operands::Bf16;
  const MatrixSize& size = bfloat ? device.bfloat_matrix : device.matrix;
  const KernelId id = emulates ? KernelId::MatmulF32Matrix
                      : bfloat ? KernelId::MatmulBf16Matrix
                               : KernelId::MatmulF16Matrix;
  if (size.m == 0 || !device.allows(id) || (!emulates && !bfloat && operands != Operands::F16)) return;
  if (emulates && !(device.subgroup_arithmetic && device.subgroup_ballot)) return;
  const uint32_t terms = emulates ? kTerms : 1;
  const double slower = device.matrix_always ? kAlways : device.software ? kBarriersOnCpu : 1;
  for (const MatrixTile& tile : kMatrixTiles) {
    if (!fits(select, tile, size, terms)) continue;
    const double efficiency = tile.efficiency / (emulates ? kTermProducts : 1);
    Candidate& one = add_tile(candidates, id, tile.subgroups() * device.matrix_subgroup, tile.bm, tile.bn,
                              tile.bm * tile.bn / efficiency * slower);
    one.set(Matrix::BK, depth_of(terms)).set(Matrix::WM, tile.wm).set(Matrix::WN, tile.wn);
    one.set(Matrix::MS, size.m).set(Matrix::NS, size.n).set(Matrix::KS, size.k);
    one.key.subgroup = device.matrix_subgroup;
    one.why = emulates ? tile.why_emulated : tile.why.of(operands);
  }
}

}  // namespace heed::kernels::matmul

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
  const char *f16, *bf16, *f32, *quantized, *rounded;  // the reason for a choice

  uint32_t subgroups() const { return bm / wm * (bn / wn); }
};
// Two terms take no more shared memory than one, of which more would leave AMD's cores half of their subgroups.
constexpr uint32_t depth_of(uint32_t terms) { return 32 / terms; }
#define HEED_MATRIX_WHY(text)                                                                                        \
  text "; f16 storage, f32 sums", text "; bf16 storage, f32 sums", text "; f32 storage, two terms of f16, f32 sums", \
      text "; f32 by quantized weights, two terms of f16, f32 sums",                                                 \
      text "; f32 by quantized weights, both rounded to f16, f32 sums"
// Twice as many subgroups of 64x32 fit the registers of a core as of 64x64, so that the largest tile has eight of them.
constexpr MatrixTile kMatrixTiles[] = {
    {128, 128, 64, 32, 8, 8.0, HEED_MATRIX_WHY("matrix units, 128x128 tiles: many rows")},
    {64, 64, 32, 32, 16, 5.0, HEED_MATRIX_WHY("matrix units, 64x64 tiles")},
    {32, 64, 32, 16, 16, 3.0, HEED_MATRIX_WHY("matrix units, 32x64 tiles: few rows")},
};

// Operands lie in shared memory as vectors of eight halves, where fragments begin.
constexpr uint32_t kOctet = 8;

// Matrix units multiply elements as they lie in memory, or `split` into one or two terms of f16 (shared/matmul_terms.glsl). Two terms
// take three products.
struct Elements {
  KernelId id;
  uint32_t terms = 1;
  bool split = false;
  const char* MatrixTile::* why = nullptr;

  uint32_t products() const { return terms == 2 ? 3 : 1; }
};
Elements elements_of(const Schedule& schedule, Operands operands) {
  switch (operands) {
    case Operands::F16: return {KernelId::MatmulF16Matrix, 1, false, &MatrixTile::f16};
    case Operands::Bf16: return {KernelId::MatmulBf16Matrix, 1, false, &MatrixTile::bf16};
    case Operands::F32:
      if (schedule.emulate_f32) return {KernelId::MatmulF32Matrix, 2, true, &MatrixTile::f32};
      break;
    case Operands::F32ByBlocks:
      if (schedule.round_rows) return {KernelId::MatmulF32QuantizedMatrix, 1, true, &MatrixTile::rounded};
      if (schedule.emulate_f32) return {KernelId::MatmulF32QuantizedMatrix, 2, true, &MatrixTile::quantized};
      break;
    default: break;
  }
  return {};
}
constexpr uint32_t kLargestBytes = 16;  // sh_largest of shared/matmul_terms.glsl

uint32_t shared_bytes(const MatrixTile& tile, const MatrixSize& size, const Elements& elements) {
  using uint = uint32_t;
  const uint BM = tile.bm, BN = tile.bn, BK = depth_of(elements.terms), WM = tile.wm, WN = tile.wn, MS = size.m,
             NS = size.n, TERMS = elements.terms;
  const bool A_K_FAST = BM > BK, B_K_FAST = BN > BK;  // the layouts with more rows, which take more padding
  uint bytes = elements.split ? kLargestBytes : 0;
#include "shared/matmul_matrix_memory.inc"
  return bytes;
}

bool fits(const Select& select, const MatrixTile& tile, const MatrixSize& size, const Elements& elements) {
  return (size.m | size.n | size.k) % kOctet == 0 && tile.wm % size.m == 0 && tile.wn % size.n == 0 &&
         depth_of(elements.terms) % size.k == 0 && tile.wm / size.m * (tile.wn / size.n) <= tile.most_fragments &&
         shared_bytes(tile, size, elements) <= select.device.shared_bytes &&
         tile.subgroups() * select.device.matrix_subgroup <= select.device.max_invocations;
}

}  // namespace

void list_matrix_units(const Select& select, Candidates* candidates) {
  const Capabilities& device = select.device;
  const Operands operands = operands_of(select);
  const Elements elements = elements_of(select.schedule, operands);
  const MatrixSize& size = operands == Operands::Bf16 ? device.bfloat_matrix : device.matrix;
  if (size.m == 0 || elements.why == nullptr || !device.allows(elements.id)) return;
  if (elements.split && !(device.subgroup_arithmetic && device.subgroup_ballot)) return;
  const double slower = device.matrix_always ? kAlways : device.software ? kBarriersOnCpu : 1;
  for (const MatrixTile& tile : kMatrixTiles) {
    if (!fits(select, tile, size, elements)) continue;
    const double efficiency = tile.efficiency / elements.products();
    Candidate& one = add_tile(candidates, elements.id, tile.subgroups() * device.matrix_subgroup, tile.bm, tile.bn,
                              tile.bm * tile.bn / efficiency * slower);
    one.set(Matrix::BK, depth_of(elements.terms)).set(Matrix::WM, tile.wm).set(Matrix::WN, tile.wn);
    one.set(Matrix::MS, size.m).set(Matrix::NS, size.n).set(Matrix::KS, size.k);
    if (operands == Operands::F32ByBlocks) one.set(Matrix::BLOCK_TERMS, elements.terms);
    one.reads_vec4 = true;
    one.traits.octets = !elements.split;
    one.key.subgroup = device.matrix_subgroup;
    one.why = tile.*elements.why;
  }
}

}  // namespace heed::kernels::matmul

// Kernels of matmul on matrix units: matmul_matrix.comp, and matmul_bytes.comp for rows rounded to bytes.
#include "shared/matmul_matrix.h"
#include "kernels/choose/matrix_units.hpp"
#include "kernels/matmul/matmul.hpp"

namespace heed::kernels::matmul {
namespace {

using Matrix = MatmulMatrixConstants;

// A workgroup computes bm x bn elements, each of its subgroups wm x wn.
struct MatrixTile {
  uint32_t bm, bn, wm, wn;
  uint32_t most_fragments;  // per subgroup: more fragments of sums would not fit into registers, whatever their size
  uint32_t subgroup;        // only for devices that report this subgroup size, which then skip the later tiles; 0: all
  uint32_t buffers;         // number of blocks in shared memory, for operands that are not split or rounded
  double efficiency;        // multiply-adds of 16 bits per time, relative to 64x64 tiles without matrix units
  const char *f16, *bf16, *f32, *quantized, *rounded, *bytes;  // the reasons for a choice

  uint32_t subgroups() const { return bm / wm * (bn / wn); }
};
#define HEED_MATRIX_WHY(text)                                                                                        \
  text "; f16 storage, f32 sums", text "; bf16 storage, f32 sums", text "; f32 storage, two f16 summands, f32 sums", \
      text "; f32 by quantized weights, two f16 summands, f32 sums",                                                 \
      text "; f32 by quantized weights, both rounded to f16, f32 sums",                                              \
      text "; f32 rounded to 8 bits by quantized weights, f32 sums"
// From the compilers' listings (tests/gpu) and the model of tests/gpu/profile. AMD's tiles take the fewest cycles with four subgroups of
// 64x64; a second buffer of shared memory would halve the number of subgroups on a core. NVIDIA's cores have registers for two workgroups
// of eight 64x32 subgroups with one buffer, but not with two. Smaller tiles have registers to spare, and with two buffers a step needs only
// one barrier. Tiles of 64x96 leave fewer cores idle where a result has few 128x128 tiles.
constexpr MatrixTile kMatrixTiles[] = {
    {128, 128, 64, 64, 16, 64, 1, 8.0, HEED_MATRIX_WHY("matrix units, 128x128 tiles of four subgroups: many rows")},
    {128, 128, 64, 32, 8, 0, 1, 8.0, HEED_MATRIX_WHY("matrix units, 128x128 tiles: many rows")},
    {64, 96, 32, 48, 6, 32, 2, 6.6, HEED_MATRIX_WHY("matrix units, 64x96 tiles, two buffers")},
    {64, 64, 32, 32, 16, 32, 2, 5.0, HEED_MATRIX_WHY("matrix units, 64x64 tiles, two buffers")},
    {64, 64, 32, 32, 16, 0, 1, 5.0, HEED_MATRIX_WHY("matrix units, 64x64 tiles")},
    {64, 64, 16, 16, 16, 0, 1, 5.0, HEED_MATRIX_WHY("matrix units, 64x64 tiles of 16 subgroups")},
    {64, 64, 8, 16, 16, 0, 1, 5.0, HEED_MATRIX_WHY("matrix units, 64x64 tiles of 32 subgroups")},
    {32, 64, 32, 16, 16, 32, 2, 3.0, HEED_MATRIX_WHY("matrix units, 32x64 tiles, two buffers: few rows")},
    {32, 64, 32, 16, 16, 0, 1, 3.0, HEED_MATRIX_WHY("matrix units, 32x64 tiles: few rows")},
    {32, 64, 16, 16, 16, 0, 1, 3.0, HEED_MATRIX_WHY("matrix units, 32x64 tiles of eight subgroups: few rows")},
    {32, 64, 8, 16, 16, 0, 1, 3.0, HEED_MATRIX_WHY("matrix units, 32x64 tiles of 16 subgroups: few rows")},
};

// An eighth of Intel's registers may hold sums: with more, fragments of the operands spill (tests/gpu).
bool holds_sums(const Capabilities& device, const MatrixTile& tile, const MatrixSize& size) {
  return !is_intel(device, size) || 8 * tile.wm * tile.wn <= device.registers * size.n;
}

// Operands lie in shared memory as vectors of eight halves, to which fragments are aligned.
constexpr uint32_t kOctet = 8;

// How a kernel multiplies elements: as stored (Whole), as one or two summands of f16 (shared/matmul_terms.glsl), or as bytes
// (shared/matmul_spans.glsl).
enum class Form : uint8_t { Whole, OneTerm, TwoTerms, Bytes };
struct Elements {
  KernelId id;
  MatrixSize size;
  const char* MatrixTile::* why = nullptr;
  Form form = Form::Whole;
  bool deep = false;  // for one term

  uint32_t terms() const { return form == Form::TwoTerms ? 2 : 1; }
  bool split() const { return form == Form::OneTerm || form == Form::TwoTerms; }
  // The part of k that a workgroup processes at a time. Rounding is done once for it, so that a deep one is faster; NVIDIA's invocations have
  // registers for it. Two summands take half as much as one, and so the same shared memory; with more of
  // it AMD's cores would hold half as many subgroups.
  uint32_t depth() const { return form == Form::Bytes ? 64 : form == Form::OneTerm && deep ? 64 : 32 / terms(); }
  uint32_t buffers(const MatrixTile& tile) const { return form == Form::Whole ? tile.buffers : 1; }
  // The cost of a matmul in f16 matmuls. Two summands take three; bytes take half of one, since rounding and scaling take as long as the
  // matrix units.
  double products() const { return form == Form::TwoTerms ? 3 : form == Form::Bytes ? 0.5 : 1; }
};

// Devices whose reported subgroup has this size, as NVIDIA's have, and whose shared memory holds 128x128 tiles of depth 64.
constexpr uint32_t kDeepSubgroup = 32, kDeepBytes = 40960;

// Four neighbouring invocations of a subgroup round a span of 32 together. If each half of a span has a scale, fragments must lie within a
// half.
constexpr uint32_t kSharers = 4, kSpan = 32;
// The multiplications of a span are unrolled; with more of them software drivers take many seconds to compile.
constexpr uint32_t kMostProducts = 32;
bool rounds_to_bytes(const Select& select) {
  const Capabilities& device = select.device;
  const bool has_halves = select.info(in::kB).dtype == DType::Q6_K;
  return select.schedule.asked.round_rows && device.allows(KernelId::MatmulF32QuantizedBytes) &&
         device.byte_matrix.m != 0 && device.byte_matrix.k <= (has_halves ? kSpan / 2 : kSpan) &&
         device.subgroup_shuffle && device.matrix_subgroup >= kSharers;
}

bool is_deep(const Capabilities& device) {
  return device.subgroup_size == kDeepSubgroup && subgroup_of(device, device.matrix) == kDeepSubgroup &&
         device.shared_bytes >= kDeepBytes;
}

Elements elements_of(const Select& select, Operands operands) {
  const Capabilities& device = select.device;
  const Schedule& schedule = select.schedule;
  switch (operands) {
    case Operands::F16: return {KernelId::MatmulF16Matrix, device.matrix, &MatrixTile::f16};
    case Operands::Bf16: return {KernelId::MatmulBf16Matrix, device.bfloat_matrix, &MatrixTile::bf16};
    case Operands::F32:
      if (schedule.asked.emulate_f32)
        return {KernelId::MatmulF32Matrix, device.matrix, &MatrixTile::f32, Form::TwoTerms};
      break;
    case Operands::F32ByBlocks:
      if (rounds_to_bytes(select))
        return {KernelId::MatmulF32QuantizedBytes, device.byte_matrix, &MatrixTile::bytes, Form::Bytes};
      if (schedule.asked.round_rows)
        return {KernelId::MatmulF32QuantizedMatrix, device.matrix, &MatrixTile::rounded, Form::OneTerm,
                is_deep(device)};
      if (schedule.asked.emulate_f32)
        return {KernelId::MatmulF32QuantizedMatrix, device.matrix, &MatrixTile::quantized, Form::TwoTerms};
      break;
    default: break;
  }
  return {};
}
constexpr uint32_t kLargestBytes = 16;  // sh_largest of shared/matmul_terms.glsl

uint32_t shared_bytes(const MatrixTile& tile, const Elements& elements) {
  using uint = uint32_t;
  const uint BM = tile.bm, BN = tile.bn, BK = elements.depth(), WM = tile.wm, WN = tile.wn, MS = elements.size.m,
             NS = elements.size.n;
  uint bytes = 0;
  if (elements.form == Form::Bytes) {
#include "shared/matmul_bytes_memory.inc"
    return bytes;
  }
  const uint TERMS = elements.terms(), BUFFERS = elements.buffers(tile);
  const bool A_K_FAST = BM > BK, B_K_FAST = BN > BK;  // the layouts with more rows, which need more padding
  if (elements.split()) bytes += kLargestBytes;
#include "shared/matmul_matrix_memory.inc"
  return bytes;
}

bool fits(const Select& select, const MatrixTile& tile, const Elements& elements) {
  const MatrixSize& size = elements.size;
  if (tile.subgroup != 0 && (tile.subgroup != select.device.subgroup_size || elements.form != Form::Whole))
    return false;
  if (!holds_sums(select.device, tile, size)) return false;
  if ((size.m | size.n | size.k) % kOctet != 0) return false;
  const uint32_t fragments = tile.wm / size.m * (tile.wn / size.n);
  if (elements.form == Form::Bytes && fragments * (kSpan / size.k) > kMostProducts) return false;
  return tile.wm % size.m == 0 && tile.wn % size.n == 0 && elements.depth() % size.k == 0 &&
         fragments <= tile.most_fragments && shared_bytes(tile, elements) <= select.device.shared_bytes &&
         tile.subgroups() * subgroup_of(select.device, size) <= select.device.max_invocations;
}

}  // namespace

void list_matrix_units(const Select& select, Candidates* candidates) {
  const Capabilities& device = select.device;
  const Operands operands = operands_of(select);
  const Elements elements = elements_of(select, operands);
  const MatrixSize& size = elements.size;
  if (size.m == 0 || elements.why == nullptr || !device.allows(elements.id)) return;
  if (elements.split() && !(device.subgroup_arithmetic && device.subgroup_ballot)) return;
  const double slower = device.matrix_always ? kAlways : 1;
  const MatrixTile* before = nullptr;
  for (const MatrixTile& tile : kMatrixTiles) {
    if (before != nullptr && before->bm == tile.bm && before->bn == tile.bn) continue;
    if (!fits(select, tile, elements)) continue;
    before = &tile;
    const double efficiency = tile.efficiency / elements.products();
    Candidate& one = add_tile(candidates, elements.id, tile.subgroups() * subgroup_of(device, size), tile.bm, tile.bn,
                              tile.bm * tile.bn / efficiency * slower);
    one.set(Matrix::BK, elements.depth()).set(Matrix::WM, tile.wm).set(Matrix::WN, tile.wn);
    one.set(Matrix::MS, size.m).set(Matrix::NS, size.n).set(Matrix::KS, size.k);
    if (operands == Operands::F32ByBlocks && elements.split()) one.set(Matrix::BLOCK_TERMS, elements.terms());
    if (elements.buffers(tile) > 1) one.set(Matrix::BUFFERS, elements.buffers(tile));
    one.reads_vec4 = true;
    one.traits.octets = elements.form == Form::Whole;
    one.key.subgroup = subgroup_of(device, size);
    if (elements.form != Form::Whole)
      one.among = operands == Operands::F32 ? Tuning::kEmulated : option_of(select.schedule);
    one.why = tile.*elements.why;
  }
}

}  // namespace heed::kernels::matmul

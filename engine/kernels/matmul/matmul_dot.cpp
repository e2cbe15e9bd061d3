// Kernels of matmul with rows rounded to bytes: matmul_dot.comp.
#include "shared/matmul_dot.h"
#include "kernels/matmul/matmul.hpp"

namespace heed::kernels::matmul {
namespace {

using Dot = MatmulDotConstants;

// A workgroup computes bm x bn elements, each of its invocations tm x tn.
struct DotTile {
  uint32_t bm, bn, tm, tn;
  // Multiply-adds per time, relative to 64x64 tiles of f32. For 32 of k an element takes eight dot products and three instructions, plus
  // rounding of rows, whose cost more columns share.
  double efficiency;
  const char* why;

  constexpr uint32_t invocations() const { return bm / tm * (bn / tn); }
  constexpr uint32_t shared_bytes() const {
    using uint = uint32_t;
    const uint BM = bm, BN = bn;
    uint bytes = 0;
#include "shared/matmul_dot_memory.inc"
    return bytes;
  }
};
#define HEED_DOT_WHY(text) "dot products of bytes, " text "; f32 rounded to 8 bits by quantized weights, f32 sums"
constexpr DotTile kDotTiles[] = {
    {64, 128, 8, 4, 2.8, HEED_DOT_WHY("64x128 tiles: many rows and columns")},
    {64, 64, 8, 4, 2.5, HEED_DOT_WHY("64x64 tiles: many rows")},
    {32, 64, 4, 4, 2.0, HEED_DOT_WHY("32x64 tiles: few rows")},
};

}  // namespace

void list_dots(const Select& select, Candidates* candidates) {
  const Capabilities& device = select.device;
  constexpr KernelId kId = KernelId::MatmulF32QuantizedDot;
  const bool rounds = select.schedule.asked.round_rows && operands_of(select) == Operands::F32ByBlocks;
  // Matrix units that round rows are faster, and listing the kernels of both would exceed the limit of a pass.
  const bool has_faster = candidates->among() != Tuning::kUsual;
  if (!rounds || !device.integer_dots || !device.allows(kId) || has_faster) return;
  for (const DotTile& tile : kDotTiles) {
    if (tile.invocations() > device.max_invocations || tile.shared_bytes() > device.shared_bytes) continue;
    const double group = tile.bm * tile.bn / tile.efficiency;
    Candidate& one = add_tile(candidates, kId, tile.invocations(), tile.bm, tile.bn, group);
    one.set(Dot::TM, tile.tm).set(Dot::TN, tile.tn);
    one.reads_vec4 = true;
    one.among = option_of(select.schedule);
    one.why = tile.why;
  }
}

}  // namespace heed::kernels::matmul

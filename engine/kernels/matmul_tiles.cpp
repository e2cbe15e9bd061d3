// Tiles in shared memory, for every device: matmul.comp.
#include <algorithm>

#include "kernels/matmul.hpp"

namespace heed::kernels::matmul {
namespace {

// One way to cut the output: BM x BN tiles with BK-deep slices, TM x TN elements per invocation.
struct Shape {
  uint32_t bm, bn, bk, tm, tn;
  double efficiency;  // multiply-adds per time, relative to 64x64: larger tiles read memory less often
  Why why;

  constexpr uint32_t invocations() const { return (bm / tm) * (bn / tn); }
  constexpr uint32_t shared_bytes() const { return (bm + bn) * (bk + 4) * 4; }
};
constexpr Shape kShapes[] = {
    {128, 128, 16, 8, 8, 1.2, HEED_MATMUL_WHY("128x128 tiles: many rows and columns")},
    {64, 64, 16, 8, 4, 1.0, HEED_MATMUL_WHY("64x64 tiles: many rows")},
    {16, 64, 32, 2, 4, 0.6, HEED_MATMUL_WHY("16x64 tiles: few rows")},
    {4, 64, 32, 2, 1, 0.25, HEED_MATMUL_WHY("4x64 tiles: up to 4 rows")},
};

// What every device has must do for all but the largest.
constexpr bool fits_floor(const Shape& shape) {
  return shape.invocations() <= kFloorInvocations && shape.shared_bytes() <= kFloorSharedBytes;
}
static_assert(fits_floor(kShapes[1]) && fits_floor(kShapes[2]) && fits_floor(kShapes[3]));

// What the shader takes for granted of how invocations share a slice: whole rows, columns and fours of k of it.
static_assert(std::all_of(std::begin(kShapes), std::end(kShapes), [](const Shape& shape) {
  const uint32_t all = shape.invocations();
  return all % (shape.bk / 4) == 0 && all % shape.bm == 0 && all % shape.bn == 0 && shape.bn % 4 == 0;
}));

// Larger tiles only where the device has room for them, and where matrix units do not take such products.
bool fits(const Select& select, const Shape& shape) {
  const Capabilities& device = select.device;
  if (fits_floor(shape)) return true;
  const bool units = device.matrix.m != 0 && select.out().dtype == DType::F16;
  return !units && !device.software && shape.invocations() <= device.max_invocations &&
         shape.shared_bytes() <= device.shared_bytes;
}

}  // namespace

void add_tiles(const Select& select) {
  const Operands operands = operands_of(select);
  const int64_t rows = most_rows(select);
  for (const Shape& shape : kShapes) {
    const bool smallest = shape.bm == 4;
    if (!fits(select, shape)) continue;
    if (!smallest && rows <= shape.bm / 4) continue;  // mostly padding; a smaller tile follows
    add_vec4_kernels(known_vec4(select), [&](bool vec4) -> KernelUse& {
      const uint32_t own[] = {shape.bk, shape.tm, shape.tn};
      return add(select, kTileKernels.of(operands), shape.invocations(), {shape.bm, shape.bn}, own,
                 vec4 ? HEED_MATMUL_A_VEC4 | HEED_MATMUL_B_VEC4 : 0, shape.why.of(operands));
    });
  }
}

double tiles_cost(const Problem& problem, const KernelKey& key) {
  for (const Shape& shape : kShapes)
    if (shape.bm == key.spec[kRows]) return waves_cost(problem, key, shape.efficiency);
  return waves_cost(problem, key, 1.0);
}

}  // namespace heed::kernels::matmul

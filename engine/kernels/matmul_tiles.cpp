// Tiles in shared memory, for every device: matmul.comp.
#include "kernels/matmul.hpp"

namespace heed::kernels::matmul {
namespace {

// One way to cut the output: BM x BN tiles with BK-deep slices, TM x TN elements per invocation. Shared memory is
// (BM + BN) * (BK + 4) * 4 bytes; (BM / TM) * (BN / TN) is the 128 invocations that every device has.
struct Shape {
  uint32_t bm, bn, bk, tm, tn;
  double
      efficiency;  // multiply-adds per time, relative to the largest tile: it reads shared memory least often
  const char* why_f32;
  const char* why_f16;
};
constexpr Shape kShapes[] = {
    {64, 64, 16, 8, 4, 1.0, "64x64 tiles: many rows; f32 storage, f32 sums",
     "64x64 tiles: many rows; f16 storage, f32 sums"},
    {16, 64, 32, 2, 4, 0.6, "16x64 tiles: few rows; f32 storage, f32 sums",
     "16x64 tiles: few rows; f16 storage, f32 sums"},
    {4, 64, 32, 2, 1, 0.25, "4x64 tiles: up to 4 rows; f32 storage, f32 sums",
     "4x64 tiles: up to 4 rows; f16 storage, f32 sums"},
};
constexpr uint32_t kInvocations = 128;

constexpr bool fits(const Shape& s) {
  return (s.bm / s.tm) * (s.bn / s.tn) == kInvocations && (s.bm + s.bn) * (s.bk + 4) * 4 <= 16384;
}
static_assert(fits(kShapes[0]) && fits(kShapes[1]) && fits(kShapes[2]));

}  // namespace

void add_tiles(const Select& select) {
  const bool f16 = select.out().dtype == DType::F16;
  const int64_t rows = most_rows(select);
  for (const Shape& shape : kShapes) {
    const bool smallest = shape.bm == 4;
    if (!smallest && rows <= shape.bm / 4) continue;  // mostly padding; a smaller tile follows
    add_vec4_kernels(known_vec4(select), [&](bool vec4) -> KernelUse& {
      const uint32_t own[] = {shape.bk, shape.tm, shape.tn};
      return add(select, f16 ? KernelId::MatmulF16 : KernelId::MatmulF32, kInvocations, {shape.bm, shape.bn},
                 own, vec4 ? HEED_MATMUL_A_VEC4 | HEED_MATMUL_B_VEC4 : 0,
                 f16 ? shape.why_f16 : shape.why_f32);
    });
  }
}

double tiles_cost(const Problem& problem, const KernelKey& key) {
  for (const Shape& shape : kShapes)
    if (shape.bm == key.spec[kRows]) return waves_cost(problem, key, shape.efficiency);
  return waves_cost(problem, key, 1.0);
}

}  // namespace heed::kernels::matmul

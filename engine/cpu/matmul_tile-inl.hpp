// Register tiles of the matrix product. Included once per instruction set (see Highway's foreach_target.h).
//
// A tile multiplies up to kTileRows rows of a, read in place, by one panel of b: two vectors of columns,
// packed as [k][2 lanes]. The sums stay in registers over the whole of k. Per step of k and row there is one
// broadcast load of a and two multiply-adds; 12 rows fill 24 of the 32 registers of AVX-512, NEON and SVE, 6
// rows 12 of the 16 of AVX2 and SSE.
#if defined(HEED_CPU_MATMUL_TILE_INL) == defined(HWY_TARGET_TOGGLE)
#ifdef HEED_CPU_MATMUL_TILE_INL
#undef HEED_CPU_MATMUL_TILE_INL
#else
#define HEED_CPU_MATMUL_TILE_INL
#endif

#include <cstdint>

#include "base/half.hpp"
#include "cpu/matmul_kernels.hpp"
#include "cpu/vector_loops-inl.hpp"
#include "hwy/cache_control.h"
#include "hwy/highway.h"

// Vectors of SVE have no size at compile time and cannot be elements of arrays, so that rows are spelled out.
#ifndef HEED_EACH_ROW
#define HEED_EACH_ROW(X) X(0) X(1) X(2) X(3) X(4) X(5) X(6) X(7) X(8) X(9) X(10) X(11)
#define HEED_EACH_VECTOR(X) X(0) X(1) X(2) X(3) X(4) X(5) X(6) X(7)
#endif

HWY_BEFORE_NAMESPACE();
namespace heed::cpu {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

#undef HEED_TILE_ROWS
#if HWY_ARCH_X86 && HWY_TARGET > HWY_AVX3 || HWY_TARGET == HWY_SCALAR || HWY_TARGET == HWY_EMU128
#define HEED_TILE_ROWS 6
#else
#define HEED_TILE_ROWS 12
#endif
inline constexpr int kTileRows = HEED_TILE_ROWS;

// Storage types of b's panels.
struct PanelF32 {
  using Element = float;
  static HWY_INLINE Vector load(const Element* at) { return hn::LoadU(Floats(), at); }
};
struct PanelBF16 {
  using Element = uint16_t;
  static HWY_INLINE Vector load(const Element* at) {
    const hn::Rebind<uint16_t, Floats> narrow;
    const hn::RebindToUnsigned<Floats> wide;
    return hn::BitCast(Floats(), hn::ShiftLeft<16>(hn::PromoteTo(wide, hn::LoadU(narrow, at))));
  }
};
struct PanelF16 {
  using Element = uint16_t;
  static HWY_INLINE Vector load(const Element* at) {
#if HWY_TARGET == HWY_SCALAR
    return hn::Set(Floats(), half_to_float(*at));
#else
    const hn::Rebind<hwy::float16_t, Floats> narrow;
    return hn::PromoteTo(Floats(), hn::LoadU(narrow, reinterpret_cast<const hwy::float16_t*>(at)));
#endif
  }
};

// a[i * a_row + p * a_k] for i < kRows, p < k. c has kRows rows of two vectors, c_pitch floats apart. Adds to
// c if `add`. Every sum runs over p in order, starting from 0, whatever kRows is.
template <class Panel, int kRows>
void tile(int64_t k, const void* HWY_RESTRICT rows, int64_t a_row, int64_t a_k,
          const void* HWY_RESTRICT panel, float* HWY_RESTRICT c, int64_t c_pitch, bool add, Ahead ahead) {
  const Floats d;
  const auto* HWY_RESTRICT a = static_cast<const float*>(rows);
  const int64_t lanes = HWY_NAMESPACE::lanes();
  const auto* HWY_RESTRICT b = static_cast<const typename Panel::Element*>(panel);
  // Rows in groups of three, so that few registers address all of them.
  const float *a0 = a, *a3 = a + 3 * a_row, *a6 = a + 6 * a_row, *a9 = a + 9 * a_row;
#define HEED_ROW(i) Vector l##i = hn::Zero(d), r##i = hn::Zero(d);
  HEED_EACH_ROW(HEED_ROW)
#undef HEED_ROW
  const int64_t late = k - Ahead::kLate * kRows;
  int64_t turn = ahead.rows != nullptr ? late : k;  // the step at which `ahead` changes over to its rows, or back
  for (int64_t p = 0; p < k; ++p) {
    if (HWY_UNLIKELY(p == turn)) {
      ahead = {ahead.rows, ahead.row, ahead.at, ahead.step};
      turn = turn == late ? late + kRows : k;
    }
    const Vector left = Panel::load(b), right = Panel::load(b + lanes);
    hwy::Prefetch(ahead.at);
    hwy::Prefetch(ahead.at + 64);
    ahead.at += ahead.step;
    b += 2 * lanes;
#define HEED_ROW(i)                                                 \
  if constexpr (i < kRows) {                                        \
    const float* group = i < 3 ? a0 : i < 6 ? a3 : i < 9 ? a6 : a9; \
    const Vector x = hn::Set(d, group[(i % 3) * a_row]);            \
    l##i = hn::MulAdd(x, left, l##i);                               \
    r##i = hn::MulAdd(x, right, r##i);                              \
  }
    HEED_EACH_ROW(HEED_ROW)
#undef HEED_ROW
    a0 += a_k, a3 += a_k, a6 += a_k, a9 += a_k;
  }
#define HEED_ROW(i)                                    \
  if constexpr (i < kRows) {                           \
    float* row = c + i * c_pitch;                      \
    if (add) {                                         \
      l##i = hn::Add(l##i, hn::LoadU(d, row));         \
      r##i = hn::Add(r##i, hn::LoadU(d, row + lanes)); \
    }                                                  \
    hn::StoreU(l##i, d, row);                          \
    hn::StoreU(r##i, d, row + lanes);                  \
  }
  HEED_EACH_ROW(HEED_ROW)
#undef HEED_ROW
}

// One row of a by four panels of b, `panel_pitch` elements apart: with so few rows it is the latency of the
// multiply-add that counts, and more columns give more independent sums. c: eight vectors.
template <class Panel>
void thin_tile(int64_t k, const void* HWY_RESTRICT row, int64_t a_k, const void* b, int64_t panel_pitch,
               float* HWY_RESTRICT c, bool add) {
  const Floats d;
  const auto* HWY_RESTRICT a = static_cast<const float*>(row);
  const int64_t lanes = HWY_NAMESPACE::lanes();
  const auto* panel = static_cast<const typename Panel::Element*>(b);
#define HEED_VECTOR(i)       \
  Vector s##i = hn::Zero(d); \
  const auto* HWY_RESTRICT b##i = panel + (i / 2) * panel_pitch + (i % 2) * lanes;
  HEED_EACH_VECTOR(HEED_VECTOR)
#undef HEED_VECTOR
  for (int64_t p = 0; p < k; ++p) {
    const Vector x = hn::Set(d, a[p * a_k]);
    const int64_t at = p * 2 * lanes;
#define HEED_VECTOR(i) s##i = hn::MulAdd(x, Panel::load(b##i + at), s##i);
    HEED_EACH_VECTOR(HEED_VECTOR)
#undef HEED_VECTOR
  }
#define HEED_VECTOR(i)                                        \
  if (add) s##i = hn::Add(s##i, hn::LoadU(d, c + (i)*lanes)); \
  hn::StoreU(s##i, d, c + (i)*lanes);
  HEED_EACH_VECTOR(HEED_VECTOR)
#undef HEED_VECTOR
}

}  // namespace HWY_NAMESPACE
}  // namespace heed::cpu
HWY_AFTER_NAMESPACE();

#endif

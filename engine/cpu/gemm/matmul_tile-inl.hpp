// Register tiles of matmul. Included once per instruction set (see Highway's foreach_target.h).
//
// A tile multiplies up to kTileRows rows of a, read in place, by one panel of b: two vectors of columns, packed as [k][2 lanes]. The sums
// stay in registers over the whole of k. Each row takes one broadcast load of a and two multiply-adds per step of k. 12 rows fill 24 of the
// 32 registers of AVX-512, NEON and SVE; 6 rows fill 12 of the 16 registers of AVX2 and SSE.
#if defined(HEED_CPU_MATMUL_TILE_INL) == defined(HWY_TARGET_TOGGLE)
#ifdef HEED_CPU_MATMUL_TILE_INL
#undef HEED_CPU_MATMUL_TILE_INL
#else
#define HEED_CPU_MATMUL_TILE_INL
#endif

#include <cstdint>
#include <limits>

#include "base/half.hpp"
#include "cpu/gemm/matmul_kernels.hpp"
#include "cpu/simd/vector_loops-inl.hpp"
#include "hwy/cache_control.h"
#include "hwy/highway.h"

// SVE vectors have no compile-time size and cannot be array elements, so rows are separate variables.
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

// Storage types of b's panels. kStep rows of b are interleaved, [k / kStep][2 lanes][kStep]; `row` selects which one a load converts to
// f32. Conversion uses the units that multiply, so a panel that at least kWidenFrom tiles read is converted once for all of them (0:
// never). On an Intel Xeon with f16 that makes an encoder of 128 tokens 10 % faster, one of 512 tokens 12 %. Pairs of bf16 are cheap to
// convert, hence their higher kWidenFrom.
struct PanelF32 {
  using Element = float;
  static constexpr int64_t kStep = 1, kWidenFrom = 0;
  template <int row>
  static HWY_INLINE Vector load(const Element* at) {
    return hn::LoadU(Floats(), at);
  }
};
// A bf16 is the upper half of an f32, so a shift or a mask converts each half of a pair. With 16 registers, pairs and their converted
// halves do not fit in addition to the sums.
struct PanelBF16 {
  using Element = uint16_t;
  static constexpr int64_t kStep = kTileRows == 12 ? 2 : 1, kWidenFrom = kStep == 2 ? 10 : 4;
  template <int row>
  static HWY_INLINE Vector load(const Element* at) {
    const hn::RebindToUnsigned<Floats> wide;
    if constexpr (kStep == 1) {
      const hn::Rebind<Element, Floats> narrow;
      return hn::BitCast(Floats(), hn::ShiftLeft<16>(hn::PromoteTo(wide, hn::LoadU(narrow, at))));
    }
    const auto pair = hn::LoadU(wide, reinterpret_cast<const uint32_t*>(at));
    if constexpr (row == 0) return hn::BitCast(Floats(), hn::ShiftLeft<16>(pair));
    return hn::BitCast(Floats(), hn::And(pair, hn::Set(wide, 0xffff0000u)));
  }
};
struct PanelF16 {
  using Element = uint16_t;
  static constexpr int64_t kStep = 1, kWidenFrom = 4;
  template <int row>
  static HWY_INLINE Vector load(const Element* at) {
#if HWY_TARGET == HWY_SCALAR
    return hn::Set(Floats(), half_to_float(*at));
#else
    const hn::Rebind<hwy::float16_t, Floats> narrow;
    const Vector v = hn::PromoteTo(Floats(), hn::LoadU(narrow, reinterpret_cast<const hwy::float16_t*>(at)));
#if HEED_CONVERTS_F16
    return v;
#else
    // Highway's emulation treats infinity and NaN, which have the largest exponent, as finite numbers from 2^16 on.
    const Floats d;
    const auto infinite = hn::Ge(hn::Abs(v), hn::Set(d, 65536.0f));
    return hn::Or(v, hn::IfThenElseZero(infinite, hn::Set(d, std::numeric_limits<float>::infinity())));
#endif
#endif
  }
};

// How tiles multiply and add. kAddsLast: a block of k starts from 0, and the old value of c is added at its end.
struct FusedArithmetic {
  static constexpr bool kAddsLast = true;
  static HWY_INLINE Vector multiply_add(Vector a, Vector b, Vector c) { return hn::MulAdd(a, b, c); }
  static HWY_INLINE Vector factor(Vector b) { return b; }
};

// Reads a[i * a_row + p * a_k] for i < kRows, p < k. c has kRows rows of two vectors, c_pitch floats apart. Adds to c if `add`. Every sum
// runs over p in order, starting from 0, for any kRows.
template <class Panel, int kRows, class Arithmetic = FusedArithmetic>
void tile(int64_t k, const void* HWY_RESTRICT rows, int64_t a_row, int64_t a_k, const void* HWY_RESTRICT panel,
          float* HWY_RESTRICT c, int64_t c_pitch, bool add, const Prefetch& prefetch) {
  const Floats d;
  const auto* HWY_RESTRICT a = static_cast<const float*>(rows);
  const int64_t lanes = HWY_NAMESPACE::lanes();
  const auto* HWY_RESTRICT b = static_cast<const typename Panel::Element*>(panel);
  // One pointer for each three rows, so that few registers are needed for addresses.
  const float *a0 = a, *a3 = a + 3 * a_row, *a6 = a + 6 * a_row, *a9 = a + 9 * a_row;
#define HEED_ROW(i) Vector l##i = hn::Zero(d), r##i = hn::Zero(d);
  HEED_EACH_ROW(HEED_ROW)
#undef HEED_ROW
#define HEED_ROW(i)                                    \
  if constexpr (i < kRows && !Arithmetic::kAddsLast) { \
    if (add) {                                         \
      l##i = hn::LoadU(d, c + i * c_pitch);            \
      r##i = hn::LoadU(d, c + i * c_pitch + lanes);    \
    }                                                  \
  }
  HEED_EACH_ROW(HEED_ROW)
#undef HEED_ROW
  constexpr int64_t kStep = Panel::kStep;
  const int64_t right_half = lanes * kStep, both = 2 * right_half;
  const auto* const end = b + k / kStep * both;
  const int64_t late = Prefetch::kLate * kRows;
  const auto* const to_out = prefetch.out != nullptr && k / kStep > late ? end - late * both : end;
  const auto* turn = to_out;  // the point at which `prefetcher` switches to the rows of sums, or back
  Prefetcher prefetcher(prefetch, kStep);
#define HEED_ROW(i)                                                 \
  if constexpr (i < kRows) {                                        \
    const float* group = i < 3 ? a0 : i < 6 ? a3 : i < 9 ? a6 : a9; \
    const Vector x = hn::Set(d, group[(i % 3) * a_row]);            \
    l##i = Arithmetic::multiply_add(x, left, l##i);                 \
    r##i = Arithmetic::multiply_add(x, right, r##i);                \
  }
#define HEED_STEP(row)                                                                  \
  {                                                                                     \
    const Vector left = Arithmetic::factor(Panel::template load<row>(b));               \
    const Vector right = Arithmetic::factor(Panel::template load<row>(b + right_half)); \
    HEED_EACH_ROW(HEED_ROW)                                                             \
    a0 += a_k, a3 += a_k, a6 += a_k, a9 += a_k;                                         \
  }
  for (; b != end; b += both) {
    if (HWY_UNLIKELY(b == turn)) {
      prefetcher.change_over();
      turn = turn == to_out ? to_out + kRows * both : end;
    }
    hwy::Prefetch(b + kNear / sizeof(*b));
    hwy::Prefetch(b + (kNear + 64) / sizeof(*b));
    prefetcher.next();
    HEED_STEP(0)
    if constexpr (kStep == 2) HEED_STEP(1)
  }
  if (k % kStep != 0) HEED_STEP(0)
#undef HEED_STEP
#undef HEED_ROW
#define HEED_ROW(i)                                    \
  if constexpr (i < kRows) {                           \
    float* row = c + i * c_pitch;                      \
    if (Arithmetic::kAddsLast && add) {                \
      l##i = hn::Add(l##i, hn::LoadU(d, row));         \
      r##i = hn::Add(r##i, hn::LoadU(d, row + lanes)); \
    }                                                  \
    hn::StoreU(l##i, d, row);                          \
    hn::StoreU(r##i, d, row + lanes);                  \
  }
  HEED_EACH_ROW(HEED_ROW)
#undef HEED_ROW
}

// Converts k rows of a panel to f32, [k][2 lanes].
template <class Panel>
void widen_panel(int64_t k, const void* panel, float* out) {
  const Floats d;
  const int64_t lanes = HWY_NAMESPACE::lanes(), right_half = lanes * Panel::kStep;
  const auto* b = static_cast<const typename Panel::Element*>(panel);
  for (int64_t p = 0; p < k; p += Panel::kStep, b += 2 * right_half) {
    hn::StoreU(Panel::template load<0>(b), d, out + p * 2 * lanes);
    hn::StoreU(Panel::template load<0>(b + right_half), d, out + p * 2 * lanes + lanes);
    if (Panel::kStep == 1 || p + 1 == k) continue;
    hn::StoreU(Panel::template load<1>(b), d, out + (p + 1) * 2 * lanes);
    hn::StoreU(Panel::template load<1>(b + right_half), d, out + (p + 1) * 2 * lanes + lanes);
  }
}

// Multiplies one row of a by four panels of b, `panel_pitch` elements apart. With one row the latency of the multiply-add limits the speed,
// so more columns, with independent sums, are faster. c has eight vectors.
template <class Panel, class Arithmetic = FusedArithmetic>
void thin_tile(int64_t k, const void* HWY_RESTRICT row, int64_t a_k, const void* b, int64_t panel_pitch,
               float* HWY_RESTRICT c, bool add) {
  const Floats d;
  const auto* HWY_RESTRICT a = static_cast<const float*>(row);
  const int64_t lanes = HWY_NAMESPACE::lanes();
  const auto* panel = static_cast<const typename Panel::Element*>(b);
  constexpr int64_t kStep = Panel::kStep;
#define HEED_VECTOR(i)       \
  Vector s##i = hn::Zero(d); \
  const auto* HWY_RESTRICT b##i = panel + (i / 2) * panel_pitch + (i % 2) * lanes * kStep;
  HEED_EACH_VECTOR(HEED_VECTOR)
#undef HEED_VECTOR
#define HEED_VECTOR(i) \
  if (!Arithmetic::kAddsLast && add) s##i = hn::LoadU(d, c + (i) * lanes);
  HEED_EACH_VECTOR(HEED_VECTOR)
#undef HEED_VECTOR
#define HEED_VECTOR(i) s##i = Arithmetic::multiply_add(x, Arithmetic::factor(Panel::template load<0>(b##i + at)), s##i);
#define HEED_SECOND(i) \
  s##i = Arithmetic::multiply_add(second, Arithmetic::factor(Panel::template load<1>(b##i + at)), s##i);
  for (int64_t p = 0; p + kStep <= k; p += kStep) {
    const int64_t at = p * 2 * lanes;
    const Vector x = hn::Set(d, a[p * a_k]);
    HEED_EACH_VECTOR(HEED_VECTOR)
    if constexpr (kStep == 2) {
      const Vector second = hn::Set(d, a[(p + 1) * a_k]);
      HEED_EACH_VECTOR(HEED_SECOND)
    }
  }
  if (k % kStep != 0) {
    const int64_t at = (k - 1) * 2 * lanes;
    const Vector x = hn::Set(d, a[(k - 1) * a_k]);
    HEED_EACH_VECTOR(HEED_VECTOR)
  }
#undef HEED_VECTOR
#undef HEED_SECOND
#define HEED_VECTOR(i)                                                                   \
  if (Arithmetic::kAddsLast && add) s##i = hn::Add(s##i, hn::LoadU(d, c + (i) * lanes)); \
  hn::StoreU(s##i, d, c + (i) * lanes);
  HEED_EACH_VECTOR(HEED_VECTOR)
#undef HEED_VECTOR
}

}  // namespace HWY_NAMESPACE
}  // namespace heed::cpu
HWY_AFTER_NAMESPACE();

#endif

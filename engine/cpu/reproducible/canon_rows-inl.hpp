// Rows of reproducible plans: sums whose order depends only on the row's length, and functions of single numbers. Included once per
// instruction set (see Highway's foreach_target.h), by files that are compiled without contraction.
#if defined(HEED_CPU_CANON_ROWS_INL) == defined(HWY_TARGET_TOGGLE)
#ifdef HEED_CPU_CANON_ROWS_INL
#undef HEED_CPU_CANON_ROWS_INL
#else
#define HEED_CPU_CANON_ROWS_INL
#endif

#include <algorithm>
#include <bit>

#include "cpu/reproducible/canon-inl.hpp"
#include "cpu/simd/row_kernels.hpp"
#include "cpu/simd/vector_loops-inl.hpp"
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace heed::cpu {
namespace HWY_NAMESPACE {
namespace {

// Element i of a row is added to partial sum i % kCanonSums; these are then added pairwise. A GPU has a fourth as many lanes, each with
// four neighbours.
constexpr int64_t kCanonSums = 128;

constexpr float kNan = std::bit_cast<float>(0x7fc00000u);  // the NaN that is stored

// Loads `count` elements; the other lanes are `rest`.
HWY_INLINE Vector take(const float* from, int64_t count, float rest = 0.0f) {
  return count == lanes() ? hn::LoadU(Floats(), from) : load_some(from, count, rest);
}
HWY_INLINE void put(Vector v, float* to, int64_t count) {
  if (count == lanes()) return hn::StoreU(v, Floats(), to);
  store_some(v, to, count);
}
// Calls step(i, count) for the vectors of a row; the last one may have fewer than lanes() elements.
template <class Step>
HWY_INLINE void each_vector(int64_t n, const Step& step) {
  int64_t i = 0;
  for (; i + lanes() <= n; i += lanes()) step(i, lanes());
  if (i < n) step(i, n - i);
}
HWY_INLINE Vector up_to(int64_t count, Vector x) {  // zeros from `count` on
  return count == lanes() ? x : hn::IfThenElseZero(hn::FirstN(Floats(), static_cast<size_t>(count)), x);
}

class CanonSums {
 public:
  CanonSums() { std::fill_n(at_, kCanonSums, 0.0f); }
  // Adds elements i, i + 1, ...; lanes past the row are 0. No sum may be subnormal.
  HWY_INLINE void add(int64_t i, Vector x) {
    float* const to = at_ + static_cast<uint64_t>(i) % kCanonSums;
    hn::Store(hn::Add(hn::Load(Floats(), to), x), Floats(), to);
  }
  float total() {
    for (int64_t width = kCanonSums / 2; width > 0; width /= 2) {
      int64_t i = 0;
      for (; i + lanes() <= width; i += lanes())
        hn::Store(hn::Add(hn::Load(Floats(), at_ + i), hn::LoadU(Floats(), at_ + i + width)), Floats(), at_ + i);
      for (; i < width; ++i) at_[i] = at_[i] + at_[i + width];
    }
    return at_[0];
  }

 private:
  HWY_ALIGN float at_[kCanonSums];
};

// Applies a function of vectors to one number.
template <class F>
HWY_INLINE float scalar(float x, const F& f) {
  return hn::GetLane(f(canon::set(x)));
}
HWY_INLINE float scalar_times(float a, float b) {
  return scalar(a, [b](Vector x) { return canon::times(x, canon::set(b)); });
}
HWY_INLINE float scalar_plus(float a, float b) {
  return scalar(a, [b](Vector x) { return canon::plus(x, canon::set(b)); });
}
HWY_INLINE float scalar_minus(float a, float b) {
  return scalar(a, [b](Vector x) { return canon::minus(x, canon::set(b)); });
}
HWY_INLINE float scalar_reciprocal(float x) {
  return scalar(x, [](Vector v) { return canon::reciprocal(v); });
}
HWY_INLINE float scalar_root(float x) {
  return scalar(x, [](Vector v) { return canon::reciprocal_root(v); });
}

// A power of two that scales values far from 1 near to 1, as in shaders/shared/row_scale.glsl. `largest`: bits of the largest magnitude.
HWY_INLINE float canon_row_scale(uint32_t largest) {
  const uint32_t exponent = std::min(largest, 0x7f7fffffu) >> 23;
  if (exponent > 127 - 20 && exponent < 127 + 20) return 1.0f;
  return hn::GetLane(canon::of_bits((254u - std::clamp(exponent, 1u, 253u)) << 23));
}
HWY_INLINE uint32_t bits_of_float(float x) { return hn::GetLane(canon::bits_of(canon::set(x))); }
// Approximately the bits of the square root.
HWY_INLINE uint32_t bits_near_root(float x) { return (bits_of_float(x) >> 1) + 0x1fc00000u; }

// Bits of magnitudes, which compare like the magnitudes; NaN is the largest.
using Magnitudes = hn::RebindToSigned<Floats>;
HWY_INLINE auto magnitude(Vector x) { return hn::BitCast(Magnitudes(), hn::Abs(x)); }
HWY_INLINE uint32_t largest_of(hn::Vec<Magnitudes> most, uint32_t least) {
  return std::max(least, static_cast<uint32_t>(hn::GetLane(hn::MaxOfLanes(Magnitudes(), most))));
}

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace heed::cpu
HWY_AFTER_NAMESPACE();

#endif

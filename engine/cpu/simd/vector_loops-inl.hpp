// Loops over rows of any length in whole vectors. Included once per instruction set (see Highway's foreach_target.h).
#if defined(HEED_CPU_VECTOR_LOOPS_INL) == defined(HWY_TARGET_TOGGLE)
#ifdef HEED_CPU_VECTOR_LOOPS_INL
#undef HEED_CPU_VECTOR_LOOPS_INL
#else
#define HEED_CPU_VECTOR_LOOPS_INL
#endif

#include <cstdint>

#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace heed::cpu {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// Instruction sets that convert f16 like base/half.hpp: round to nearest even, and keep subnormals, infinity and NaN. Highway's emulation
// does not.
#undef HEED_CONVERTS_F16
#if HWY_TARGET != HWY_SCALAR && HWY_TARGET != HWY_EMU128 && !(HWY_ARCH_X86 && HWY_TARGET > HWY_AVX2)
#define HEED_CONVERTS_F16 1
#else
#define HEED_CONVERTS_F16 0
#endif

using Floats = hn::ScalableTag<float>;
using Vector = hn::Vec<Floats>;

HWY_INLINE int64_t lanes() { return static_cast<int64_t>(hn::Lanes(Floats())); }

// Loads the first n < lanes elements; the other lanes are `fill`. Reads nothing past the n elements.
HWY_INLINE Vector load_some(const float* from, int64_t n, float fill) {
  const Floats d;
  HWY_ALIGN float buffer[hn::MaxLanes(d)];
  hn::Store(hn::Set(d, fill), d, buffer);
  for (int64_t i = 0; i < n; ++i) buffer[i] = from[i];
  return hn::Load(d, buffer);
}
HWY_INLINE void store_some(Vector v, float* to, int64_t n) {
  const Floats d;
  HWY_ALIGN float buffer[hn::MaxLanes(d)];
  hn::Store(v, d, buffer);
  for (int64_t i = 0; i < n; ++i) to[i] = buffer[i];
}

// out[i] = f(x[i]...).
template <class F>
HWY_INLINE void map(const float* x, float* out, int64_t n, const F& f) {
  const Floats d;
  int64_t i = 0;
  for (; i + lanes() <= n; i += lanes()) hn::StoreU(f(hn::LoadU(d, x + i)), d, out + i);
  if (i < n) store_some(f(load_some(x + i, n - i, 0.0f)), out + i, n - i);
}
template <class F>
HWY_INLINE void map(const float* a, const float* b, float* out, int64_t n, const F& f) {
  const Floats d;
  int64_t i = 0;
  for (; i + lanes() <= n; i += lanes()) hn::StoreU(f(hn::LoadU(d, a + i), hn::LoadU(d, b + i)), d, out + i);
  if (i < n) store_some(f(load_some(a + i, n - i, 0.0f), load_some(b + i, n - i, 0.0f)), out + i, n - i);
}

// Calls step(sums, i) for whole vectors and tail(sums, i) for the rest; each adds to one of four vectors of sums. A sum in f32 loses digits
// with every summand, so after kBlock elements the sums are added to a double.
template <class Step, class Tail>
HWY_INLINE double sum_of(int64_t n, const Step& step, const Tail& tail) {
  constexpr int64_t kBlock = 8192;
  const Floats d;
  double total = 0.0;
  int64_t i = 0;
  do {
    const int64_t end = HWY_MIN(n, i + kBlock);
    Vector s0 = hn::Zero(d), s1 = s0, s2 = s0, s3 = s0;
    for (; i + 4 * lanes() <= end; i += 4 * lanes()) {
      s0 = step(s0, i);
      s1 = step(s1, i + lanes());
      s2 = step(s2, i + 2 * lanes());
      s3 = step(s3, i + 3 * lanes());
    }
    for (; i + lanes() <= end; i += lanes()) s0 = step(s0, i);
    if (i < end) {
      s1 = tail(s1, i);
      i = end;
    }
    const Vector sum = hn::Add(hn::Add(s0, s1), hn::Add(s2, s3));
    total += static_cast<double>(hn::GetLane(hn::SumOfLanes(d, sum)));
  } while (i < n);
  return total;
}

}  // namespace HWY_NAMESPACE
}  // namespace heed::cpu
HWY_AFTER_NAMESPACE();

#endif

#include "cpu/simd/update_kernels.hpp"

#include "cpu/simd/kernels.hpp"
#include "cpu/simd/targets.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "cpu/simd/update_kernels.cpp"
#include "hwy/foreach_target.h"  // IWYU pragma: keep
//
#include "cpu/simd/dispatch.hpp"
#include "cpu/simd/vector_loops-inl.hpp"
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace heed::cpu {
namespace HWY_NAMESPACE {
namespace {

double squares(const float* x, int64_t n) {
  const Floats d;
  return sum_of(
      n,
      [&](Vector sums, int64_t i) {
        const Vector v = hn::LoadU(d, x + i);
        return hn::MulAdd(v, v, sums);
      },
      [&](Vector sums, int64_t i) {
        const Vector v = load_some(x + i, n - i, 0.0f);
        return hn::MulAdd(v, v, sums);
      });
}

// Whole vectors of several arrays, or, after the last of these, the remaining elements.
struct Whole {
  Vector load(const float* from) const { return hn::LoadU(Floats(), from); }
  void store(Vector v, float* to) const { hn::StoreU(v, Floats(), to); }
};
struct Some {
  int64_t n;
  Vector load(const float* from) const { return load_some(from, n, 0.0f); }
  void store(Vector v, float* to) const { store_some(v, to, n); }
};
template <class Step>
HWY_INLINE void for_each(int64_t n, const Step& step) {
  int64_t i = 0;
  for (; i + lanes() <= n; i += lanes()) step(Whole(), i);
  if (i < n) step(Some{n - i}, i);
}

void adamw(const UpdateNumbers& numbers, const float* gradient, float* weights, float* first, float* second,
           int64_t n) {
  const Floats d;
  const Vector factor = hn::Set(d, numbers.factor), b1 = hn::Set(d, numbers.first), b2 = hn::Set(d, numbers.second),
               rest1 = hn::Set(d, numbers.first_rest), rest2 = hn::Set(d, numbers.second_rest),
               scale = hn::Set(d, numbers.second_scale), eps = hn::Set(d, numbers.eps), rate = hn::Set(d, numbers.rate),
               decay = hn::Set(d, numbers.decay);
  for_each(n, [&](const auto& part, int64_t i) {
    const Vector g = hn::Mul(part.load(gradient + i), factor), w = part.load(weights + i);
    const Vector m = hn::MulAdd(b1, part.load(first + i), hn::Mul(rest1, g));
    const Vector v = hn::MulAdd(b2, part.load(second + i), hn::Mul(hn::Mul(rest2, g), g));
    const Vector root = hn::Add(hn::Sqrt(hn::Mul(v, scale)), eps);
    part.store(m, first + i);
    part.store(v, second + i);
    part.store(hn::Sub(w, hn::MulAdd(decay, w, hn::Mul(rate, hn::Div(m, root)))), weights + i);
  });
}

void sgd(const UpdateNumbers& numbers, const float* gradient, float* weights, float* first, int64_t n) {
  const Floats d;
  const Vector factor = hn::Set(d, numbers.factor), b1 = hn::Set(d, numbers.first),
               rest1 = hn::Set(d, numbers.first_rest), rate = hn::Set(d, numbers.rate),
               decay = hn::Set(d, numbers.decay);
  for_each(n, [&](const auto& part, int64_t i) {
    const Vector w = part.load(weights + i), g = hn::MulAdd(decay, w, hn::Mul(part.load(gradient + i), factor));
    Vector moved = g;
    if (first != nullptr) {
      const Vector m = hn::MulAdd(b1, part.load(first + i), hn::Mul(rest1, g));
      part.store(m, first + i);
      moved = numbers.nesterov ? hn::MulAdd(b1, m, g) : m;
    }
    part.store(hn::NegMulAdd(rate, moved, w), weights + i);
  });
}

}  // namespace

const UpdateKernels* update_table() {
  static constexpr UpdateKernels kKernels = {nullptr, squares, adamw, sgd};
  return &kKernels;
}

}  // namespace HWY_NAMESPACE
}  // namespace heed::cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace heed::cpu {
const UpdateKernels* update_kernels(int64_t target) { return HEED_FOR_TARGET(update_table, target)(); }
}  // namespace heed::cpu
#endif

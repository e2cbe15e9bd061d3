// Reproducible UpdateKernels; tests/reproducible/README.md has the rules. Included once per instruction set (see Highway's
// foreach_target.h), by canon.cpp.
#if defined(HEED_CPU_CANON_UPDATE_INL) == defined(HWY_TARGET_TOGGLE)
#ifdef HEED_CPU_CANON_UPDATE_INL
#undef HEED_CPU_CANON_UPDATE_INL
#else
#define HEED_CPU_CANON_UPDATE_INL
#endif

#include <cmath>

#include "cpu/reproducible/canon-inl.hpp"
#include "cpu/reproducible/canon_rows-inl.hpp"
#include "cpu/simd/update_kernels.hpp"
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace heed::cpu {
namespace HWY_NAMESPACE {
namespace {

HWY_INLINE Vector setting(float x) { return canon::flushed(canon::set(x)); }
HWY_INLINE float scalar_setting(float x) { return hn::GetLane(setting(x)); }

double squares(const float* x, int64_t n) {
  CanonSums sums;
  each_vector(n, [&](int64_t i, int64_t count) {
    const Vector factor = canon::flush_for_product(take(x + i, count));
    sums.add(i, hn::Mul(factor, factor));
  });
  return static_cast<double>(sums.total());
}

UpdateFactors factors_of(const UpdateSettings& settings, const double* squares, int64_t count, float steps) {
  CanonSums sums;
  HWY_ALIGN float some[hn::MaxLanes(Floats())];
  each_vector(count, [&](int64_t i, int64_t n) {
    for (int64_t j = 0; j < n; ++j) some[j] = static_cast<float>(squares[i + j]);
    sums.add(i, take(some, n));
  });
  const float factor = scalar_setting(settings.gradient);
  const float root = scalar(sums.total(), [](Vector v) { return canon::root(v); });
  const float norm = scalar_times(root, std::fabs(factor)), most = scalar_setting(settings.most_norm);
  return cpu::factors_of(settings, norm, steps, [&] {
    const float clipped = most > 0.0f ? scalar_times(most, scalar_reciprocal(scalar_plus(norm, kLeastNorm))) : 1.0f;
    return clipped < 1.0f ? scalar_times(factor, clipped) : factor;
  });
}

void correct(const UpdateSettings& settings, float steps, UpdateNumbers* numbers) {
  const auto inverse = [&](float log) {
    return scalar(scalar_times(steps, scalar_setting(log)),
                  [](Vector x) { return canon::reciprocal(canon::one_less_power(x)); });
  };
  numbers->rate = scalar_times(scalar_setting(settings.rate), inverse(settings.log_first));
  numbers->second_scale = inverse(settings.log_second);
}

void adamw(const UpdateNumbers& numbers, const float* gradient, float* weights, float* first, float* second,
           int64_t n) {
  const Vector factor = setting(numbers.factor), b1 = setting(numbers.first), b2 = setting(numbers.second),
               rest1 = setting(numbers.first_rest), rest2 = setting(numbers.second_rest),
               scale = canon::set(numbers.second_scale), eps = setting(numbers.eps), rate = canon::set(numbers.rate),
               decay = setting(numbers.decay);
  each_vector(n, [&](int64_t i, int64_t count) {
    const auto at = [&](const float* x) { return canon::flushed(take(x + i, count)); };
    const Vector g = canon::times(at(gradient), factor), w = at(weights);
    const Vector m = canon::plus(canon::times(b1, at(first)), canon::times(rest1, g));
    const Vector v = canon::plus(canon::times(b2, at(second)), canon::times(canon::times(rest2, g), g));
    const Vector divisor = canon::plus(canon::root(canon::times(v, scale)), eps);
    put(canon::canonical(m), first + i, count);
    put(canon::canonical(v), second + i, count);
    const Vector moved = canon::times(rate, canon::times(m, canon::reciprocal(divisor)));
    put(canon::canonical(canon::minus(w, canon::plus(canon::times(decay, w), moved))), weights + i, count);
  });
}

void sgd(const UpdateNumbers& numbers, const float* gradient, float* weights, float* first, int64_t n) {
  const Vector factor = setting(numbers.factor), b1 = setting(numbers.first), rest1 = setting(numbers.first_rest),
               rate = setting(numbers.rate), decay = setting(numbers.decay);
  each_vector(n, [&](int64_t i, int64_t count) {
    const auto at = [&](const float* x) { return canon::flushed(take(x + i, count)); };
    const Vector w = at(weights), g = canon::plus(canon::times(at(gradient), factor), canon::times(decay, w));
    Vector moved = g;
    if (first != nullptr) {
      const Vector m = canon::plus(canon::times(b1, at(first)), canon::times(rest1, g));
      put(canon::canonical(m), first + i, count);
      moved = numbers.nesterov ? canon::plus(g, canon::times(b1, m)) : m;
    }
    put(canon::canonical(canon::minus(w, canon::times(rate, moved))), weights + i, count);
  });
}

}  // namespace

const UpdateKernels* canon_update_table() {
  static constexpr CanonUpdateKernels kCanon = {factors_of, correct};
  static constexpr UpdateKernels kKernels = {&kCanon, squares, adamw, sgd};
  return &kKernels;
}

}  // namespace HWY_NAMESPACE
}  // namespace heed::cpu
HWY_AFTER_NAMESPACE();

#endif

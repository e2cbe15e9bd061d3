// Reproducible versions of the loss and the gradients in RowKernels; tests/reproducible/README.md has the rules. Included once per
// instruction set (see Highway's foreach_target.h), by canon.cpp.
#if defined(HEED_CPU_CANON_BACKWARD_INL) == defined(HWY_TARGET_TOGGLE)
#ifdef HEED_CPU_CANON_BACKWARD_INL
#undef HEED_CPU_CANON_BACKWARD_INL
#else
#define HEED_CPU_CANON_BACKWARD_INL
#endif

#include <algorithm>
#include <limits>
#include <utility>

#include "cpu/reproducible/canon-inl.hpp"
#include "cpu/reproducible/canon_rows-inl.hpp"
#include "cpu/simd/row_kernels.hpp"
#include "cpu/simd/vector_loops-inl.hpp"
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace heed::cpu {
namespace HWY_NAMESPACE {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();

HWY_INLINE float scalar_flushed(float x) {
  return scalar(x, [](Vector v) { return canon::flushed(v); });
}

// The largest logit that is not -infinity; NaN if a logit is NaN. -infinity: there is none.
float largest_logit(const float* x, int64_t n) {
  Vector most = canon::set(-kInfinity);
  bool nan = false;
  each_vector(n, [&](int64_t i, int64_t count) {
    const Vector v = take(x + i, count, -kInfinity);
    nan = nan || !hn::AllFalse(Floats(), hn::IsNaN(v));
    most = hn::IfThenElse(hn::Gt(canon::flushed(v), most), canon::flushed(v), most);
  });
  return nan ? kNan : hn::GetLane(hn::MaxOfLanes(Floats(), most));
}

// Logits minus the largest one; -infinity stays, and lanes past the row are -infinity.
HWY_INLINE Vector distances(const float* x, int64_t i, int64_t count, Vector largest) {
  const Vector hidden = canon::set(-kInfinity), v = take(x + i, count, -kInfinity);
  return hn::IfThenElse(hn::Eq(v, hidden), hidden, canon::minus(canon::flushed(v), largest));
}
HWY_INLINE Vector powers(Vector distance) {
  return hn::IfThenZeroElse(hn::Eq(distance, canon::set(-kInfinity)), canon::exp(distance));
}

}  // namespace

float canon_loss(const float* x, int64_t n, int64_t label, float smoothing) {
  const float largest = largest_logit(x, n);
  if (largest == -kInfinity) return kInfinity;
  if (!(largest < kInfinity)) return kNan;
  if (x[label] == -kInfinity && smoothing < 1.0f) return kInfinity;
  if (smoothing > 0.0f && std::find(x, x + n, -kInfinity) != x + n) return kInfinity;
  CanonSums sums, apart;
  each_vector(n, [&](int64_t i, int64_t count) {
    const Vector distance = distances(x, i, count, canon::set(largest));
    const auto hidden = hn::Eq(distance, canon::set(-kInfinity));
    sums.add(i, powers(distance));
    apart.add(i, hn::IfThenZeroElse(hidden, canon::flush_for_sum(distance)));
  });
  float loss = scalar(sums.total(), [](Vector v) { return canon::log(v); });
  if (smoothing < 1.0f)
    loss = scalar_minus(loss, scalar_times(1.0f - smoothing, scalar_minus(scalar_flushed(x[label]), largest)));
  if (smoothing > 0.0f) {
    const float mean = scalar_times(apart.total(), scalar_reciprocal(static_cast<float>(n)));
    loss = scalar_minus(loss, scalar_times(smoothing, mean));
  }
  return scalar(loss, [](Vector v) { return canon::canonical(v); });
}

void canon_loss_backward(const float* x, int64_t n, int64_t label, float smoothing, float g, float* out) {
  const float largest = largest_logit(x, n);
  if (!(largest > -kInfinity && largest < kInfinity)) return static_cast<void>(std::fill_n(out, n, kNan));
  const Vector most = canon::set(largest);
  each_vector(n, [&](int64_t i, int64_t count) { put(powers(distances(x, i, count, most)), out + i, count); });
  // The label's probability minus 1 is computed as the negated sum of the others, which keeps its digits if it is small.
  const float own = std::exchange(out[label], 0.0f);
  CanonSums sums;
  each_vector(n, [&](int64_t i, int64_t count) { sums.add(i, take(out + i, count)); });
  const float others = sums.total(), total = others + own;
  if (total == 0.0f) return static_cast<void>(std::fill_n(out, n, kNan));
  const float inverse = scalar_reciprocal(total), up = scalar_flushed(g);
  const float everywhere = scalar_times(smoothing, scalar_reciprocal(static_cast<float>(n)));
  map(out, out, n, [&](Vector power) {
    const Vector share = canon::minus(canon::times(power, canon::set(inverse)), canon::set(everywhere));
    return canon::canonical(hn::Mul(canon::set(up), share));
  });
  const float of_label = scalar_minus(scalar_minus(smoothing, everywhere), scalar_times(others, inverse));
  out[label] = scalar(of_label, [&](Vector v) { return canon::canonical(hn::Mul(canon::set(up), v)); });
}

void canon_softmax_backward(const float* p, const float* g, const float* visible, float scale, float* out, int64_t n) {
  const Vector zero = hn::Zero(Floats()), by = canon::set(scale);
  CanonSums sums;
  each_vector(n, [&](int64_t i, int64_t count) {
    const Vector weight = canon::flush_for_product(take(p + i, count));
    const Vector product = hn::Mul(weight, canon::flush_for_product(take(g + i, count)));
    sums.add(i, hn::IfThenZeroElse(hn::Eq(weight, zero), product));
  });
  const Vector sum = canon::set(sums.total());
  each_vector(n, [&](int64_t i, int64_t count) {
    const Vector weight = canon::flush_for_product(take(p + i, count)), upstream = canon::flushed(take(g + i, count));
    Vector value = canon::times(by, canon::times(weight, canon::minus(upstream, sum)));
    value = hn::IfThenZeroElse(hn::Eq(weight, zero), canon::canonical(value));
    if (visible != nullptr) value = hn::IfThenZeroElse(hn::Eq(canon::flushed(take(visible + i, count)), zero), value);
    put(value, out + i, count);
  });
}

namespace {

enum class Norm : uint8_t { Layer, Rms, L2 };

// Normalizes elements of a row: ((x - mean) scale - rest) inverse, with numbers from the norms in canon_rows.cpp.
struct Normal {
  float mean = 0.0f, scale = 1.0f, rest = 0.0f, inverse = 0.0f;
  bool divides = true;  // divides by a length that depends on the row

  HWY_INLINE Vector operator()(Vector x) const {
    const Vector deviation = canon::times(canon::minus(canon::flushed(x), canon::set(mean)), canon::set(scale));
    return canon::times(canon::minus(deviation, canon::set(rest)), canon::set(inverse));
  }
};

Normal normal_of(Norm kind, const float* x, float eps, int64_t n) {
  const float each = scalar_reciprocal(static_cast<float>(n)),
              first = kind == Norm::Layer ? scalar_flushed(x[0]) : 0.0f;
  Normal normal;
  CanonSums sums;
  auto most = hn::Zero(Magnitudes());
  each_vector(n, [&](int64_t i, int64_t count) {
    const Vector difference = up_to(count, canon::minus(canon::flushed(take(x + i, count)), canon::set(first)));
    sums.add(i, canon::flush_for_sum(difference));
    most = hn::Max(most, magnitude(difference));
  });
  normal.scale = canon_row_scale(largest_of(most, kind == Norm::L2 ? bits_of_float(eps) : bits_near_root(eps)));
  if (kind == Norm::Layer) normal.mean = scalar_plus(first, scalar_times(sums.total(), each));
  CanonSums deviations, squares;
  each_vector(n, [&](int64_t i, int64_t count) {
    const Vector centered = canon::minus(canon::flushed(take(x + i, count)), canon::set(normal.mean));
    const Vector deviation = up_to(count, canon::times(centered, canon::set(normal.scale)));
    const Vector factor = canon::flush_for_product(deviation);
    deviations.add(i, canon::flush_for_sum(deviation));
    squares.add(i, hn::Mul(factor, factor));
  });
  if (kind == Norm::Layer) normal.rest = scalar_times(deviations.total(), each);
  const float sum = squares.total();
  if (kind == Norm::L2) {
    const float inverse = scalar_root(sum), least = scalar_times(eps, normal.scale);
    normal.divides = scalar_times(sum, inverse) >= least;
    normal.inverse = !normal.divides ? scalar_reciprocal(least) : sum == 0.0f ? 0.0f : inverse;
    return normal;
  }
  const float difference = scalar_minus(scalar_times(sum, each), scalar_times(normal.rest, normal.rest));
  const float variance = difference < 0.0f ? 0.0f : difference;
  normal.inverse = scalar_root(scalar_plus(variance, scalar_times(scalar_times(eps, normal.scale), normal.scale)));
  return normal;
}

HWY_INLINE void add_to(float* sums, Vector value, int64_t i, int64_t count) {
  if (sums != nullptr) put(hn::Add(take(sums + i, count), value), sums + i, count);
}

void norm_backward(Norm kind, const NormRow& row, const float* upstream, const NormSums& sums, float* out, int64_t n) {
  const Normal normal = normal_of(kind, row.x, row.eps, n);
  const float each = scalar_reciprocal(static_cast<float>(n));
  const auto gradient_at = [&](int64_t i, int64_t count) {
    const Vector g = canon::flushed(take(upstream + i, count));
    return row.gamma == nullptr ? g : canon::times(g, canon::flushed(take(row.gamma + i, count)));
  };
  CanonSums gradients, products;
  each_vector(n, [&](int64_t i, int64_t count) {
    const Vector gradient = up_to(count, gradient_at(i, count)), y = up_to(count, normal(take(row.x + i, count)));
    gradients.add(i, canon::flush_for_sum(gradient));
    products.add(i, hn::Mul(canon::flush_for_product(gradient), canon::flush_for_product(y)));
  });
  const float mean = kind == Norm::Layer ? scalar_times(gradients.total(), each) : 0.0f, sum = products.total();
  const float share = kind != Norm::L2 ? scalar_times(sum, each) : normal.divides ? sum : 0.0f;
  each_vector(n, [&](int64_t i, int64_t count) {
    const Vector y = normal(take(row.x + i, count)), g = canon::flushed(take(upstream + i, count));
    const Vector centered = canon::minus(gradient_at(i, count), canon::set(mean));
    const Vector left = canon::minus(centered, canon::times(y, canon::set(share)));
    Vector value = canon::times(canon::times(left, canon::set(normal.inverse)), canon::set(normal.scale));
    if (row.residual != nullptr) value = canon::plus(value, canon::flushed(take(row.residual + i, count)));
    value = canon::canonical(value);
    add_to(sums.gamma, hn::Mul(canon::flush_for_product(g), canon::flush_for_product(y)), i, count);
    add_to(sums.beta, canon::flush_for_sum(g), i, count);
    add_to(sums.rows, canon::flush_for_sum(value), i, count);
    put(value, out + i, count);
  });
}

}  // namespace

void canon_layernorm_backward(const NormRow& row, const float* upstream, const NormSums& sums, float* out, int64_t n) {
  norm_backward(Norm::Layer, row, upstream, sums, out, n);
}
void canon_rmsnorm_backward(const NormRow& row, const float* upstream, const NormSums& sums, float* out, int64_t n) {
  norm_backward(Norm::Rms, row, upstream, sums, out, n);
}
void canon_l2_backward(const NormRow& row, const float* upstream, const NormSums& sums, float* out, int64_t n) {
  norm_backward(Norm::L2, row, upstream, sums, out, n);
}

}  // namespace HWY_NAMESPACE
}  // namespace heed::cpu
HWY_AFTER_NAMESPACE();

#endif

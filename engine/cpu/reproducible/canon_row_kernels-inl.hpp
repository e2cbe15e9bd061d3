// Reproducible RowKernels; tests/reproducible/README.md has the rules. Included once per instruction set (see Highway's foreach_target.h),
// by canon.cpp.
#if defined(HEED_CPU_CANON_ROW_KERNELS_INL) == defined(HWY_TARGET_TOGGLE)
#ifdef HEED_CPU_CANON_ROW_KERNELS_INL
#undef HEED_CPU_CANON_ROW_KERNELS_INL
#else
#define HEED_CPU_CANON_ROW_KERNELS_INL
#endif

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/half.hpp"
#include "cpu/reproducible/canon-inl.hpp"
#include "cpu/reproducible/canon_backward-inl.hpp"
#include "cpu/reproducible/canon_functions-inl.hpp"
#include "cpu/reproducible/canon_rows-inl.hpp"
#include "cpu/simd/philox-inl.hpp"
#include "cpu/simd/row_kernels.hpp"
#include "cpu/simd/vector_loops-inl.hpp"
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace heed::cpu {
namespace HWY_NAMESPACE {

const RowKernels* row_table();  // in row_kernels.cpp

namespace {

void canon_activate(Activation kind, const float* x, float* out, int64_t n) {
  canon::with_activation(
      kind, [&](const auto& f) { map(x, out, n, [&](Vector v) { return canon::canonical(f(canon::flushed(v))); }); });
}
void canon_activate_backward(Activation kind, const float* g, const float* x, float* out, int64_t n) {
  canon::with_activation(kind, [&](const auto& f) {
    map(g, x, out, n, [&](Vector a, Vector b) {
      return canon::canonical(hn::Mul(canon::flushed(a), f.derivative(canon::flushed(b))));
    });
  });
}
void canon_add(const float* a, const float* b, float* out, int64_t n) {
  map(a, b, out, n, [](Vector x, Vector y) { return canon::canonical(hn::Add(canon::flushed(x), canon::flushed(y))); });
}
void canon_multiply(const float* a, const float* b, float* out, int64_t n) {
  map(a, b, out, n, [](Vector x, Vector y) { return canon::canonical(hn::Mul(canon::flushed(x), canon::flushed(y))); });
}
void canon_scale(const float* x, float factor, float* out, int64_t n) {
  const Vector by = canon::set(factor);
  map(x, out, n, [&](Vector v) { return canon::canonical(hn::Mul(canon::flushed(v), by)); });
}

enum class LogSumExp : uint8_t { None, Made };

template <LogSumExp kSum>
float softmax_row(const float* x, float factor, float* out, int64_t n) {
  constexpr float kHidden = -std::numeric_limits<float>::infinity();
  const Vector by = canon::set(factor), hidden = canon::set(kHidden);
  Vector most = hidden;
  auto is_nan = hn::IsNaN(hidden);
  each_vector(n, [&](int64_t i, int64_t count) {
    Vector v = canon::times(canon::flushed(take(x + i, count)), by);
    put(v, out + i, count);
    if (count != lanes()) v = hn::IfThenElse(hn::FirstN(Floats(), static_cast<size_t>(count)), v, hidden);
    is_nan = hn::Or(is_nan, hn::IsNaN(v));
    most = hn::Max(most, v);
  });
  const bool has_nan = !hn::AllFalse(Floats(), is_nan);
  const float largest = has_nan ? kNan : hn::GetLane(hn::MaxOfLanes(Floats(), most));
  if (largest == kHidden) {
    std::fill_n(out, n, 0.0f);
    return kHidden;
  }
  const Vector top = canon::set(largest);
  CanonSums sums;
  if (!std::isfinite(largest)) {
    // A row with NaN or infinity has no sum: each weight that would not be 0 is NaN.
    each_vector(n, [&](int64_t i, int64_t count) {
      const Vector v = take(out + i, count, kHidden), e = canon::exp(canon::minus(v, top));
      const auto nothing = hn::Or(hn::Eq(v, hidden), hn::Eq(e, hn::Zero(Floats())));
      put(hn::IfThenZeroElse(nothing, canon::set(kNan)), out + i, count);
    });
    return kNan;
  }
  each_vector(n, [&](int64_t i, int64_t count) {
    const Vector power = canon::exp_up_to_1(hn::Sub(take(out + i, count, kHidden), top));
    put(power, out + i, count);
    sums.add(i, power);
  });
  const float sum = sums.total();
  const Vector inverse = canon::set(scalar_reciprocal(sum));
  map(out, out, n, [&](Vector e) { return canon::times(e, inverse); });
  if (kSum == LogSumExp::None) return 0.0f;
  return scalar(sum, [&](Vector v) { return canon::canonical(hn::Add(top, canon::log(v))); });
}

void canon_softmax(const float* x, float factor, float* out, int64_t n, const float*) {
  softmax_row<LogSumExp::None>(x, factor, out, n);
}

// Elements i, i + 1, ... of x + residual.
HWY_INLINE Vector row_values(const NormRow& row, int64_t i, int64_t count) {
  const Vector x = canon::flushed(take(row.x + i, count));
  return row.residual == nullptr ? x : canon::plus(x, canon::flushed(take(row.residual + i, count)));
}
// `value` need not be flushed.
HWY_INLINE void put_normal(const NormRow& row, Vector value, float* out, int64_t i, int64_t count) {
  if (row.gamma != nullptr) value = hn::Mul(canon::flushed(value), canon::flushed(take(row.gamma + i, count)));
  if (row.beta != nullptr) value = hn::Add(canon::flushed(value), canon::flushed(take(row.beta + i, count)));
  put(canon::canonical(value), out + i, count);
}
// Multiplies values by a power of two, which is usually 1.
template <class F>
HWY_INLINE void with_scale(float scale, const F& f) {
  const Vector by = canon::set(scale);
  if (scale == 1.0f)
    f([](Vector v) { return v; });
  else
    f([&](Vector v) { return canon::times(v, by); });
}

// Computes a row of layernorm; `out` holds its values, then their deviations, meanwhile. Each step depends on the one before, so several
// rows are interleaved.
class LayerNormRow {
 public:
  void find_mean(const NormRow& row, float* out, int64_t n, float each) {
    row_ = &row;
    out_ = out;
    const float first = hn::GetLane(row_values(row, 0, 1));
    const Vector shift = canon::set(first);
    CanonSums sums;
    auto most = hn::Zero(Magnitudes());
    each_vector(n, [&](int64_t i, int64_t count) {
      const Vector v = row_values(row, i, count);
      put(v, out + i, count);
      const Vector difference = up_to(count, hn::Sub(v, shift));
      sums.add(i, canon::flush_for_sum(difference));
      most = hn::Max(most, magnitude(difference));
    });
    scale_ = canon_row_scale(largest_of(most, bits_near_root(row.eps)));
    mean_ = scalar_plus(first, scalar_times(sums.total(), each));
  }
  void find_variance(int64_t n, float each) {
    const Vector center = canon::set(mean_);
    CanonSums deviations, squares;
    with_scale(scale_, [&](const auto& scaled) {
      each_vector(n, [&](int64_t i, int64_t count) {
        const Vector deviation = scaled(canon::minus(take(out_ + i, count), center));
        put(deviation, out_ + i, count);
        const Vector counted = up_to(count, deviation), factor = canon::flush_for_product(counted);
        deviations.add(i, canon::flush_for_sum(counted));
        squares.add(i, hn::Mul(factor, factor));
      });
    });
    rest_ = scalar_times(deviations.total(), each);
    const float difference = scalar_minus(scalar_times(squares.total(), each), scalar_times(rest_, rest_));
    const float variance = difference < 0.0f ? 0.0f : difference;
    inverse_ = scalar_root(scalar_plus(variance, scalar_times(scalar_times(row_->eps, scale_), scale_)));
  }
  void finish(int64_t n) const {
    const Vector rest = canon::set(rest_), inverse = canon::set(inverse_);
    each_vector(n, [&](int64_t i, int64_t count) {
      put_normal(*row_, hn::Mul(canon::minus(take(out_ + i, count), rest), inverse), out_, i, count);
    });
  }

 private:
  const NormRow* row_ = nullptr;
  float* out_ = nullptr;
  float scale_ = 1.0f, mean_ = 0.0f, rest_ = 0.0f, inverse_ = 0.0f;
};

void canon_layernorm(const NormRow* rows, float* const* outs, int64_t count, int64_t n) {
  const float each = scalar_reciprocal(static_cast<float>(n));
  LayerNormRow states[RowKernels::kNormRows];
  for (int64_t r = 0; r < count; ++r) states[r].find_mean(rows[r], outs[r], n, each);
  for (int64_t r = 0; r < count; ++r) states[r].find_variance(n, each);
  for (int64_t r = 0; r < count; ++r) states[r].finish(n);
}

// Sum of the squares of scaled values, which are stored in `out`.
template <class Values>
HWY_INLINE float canon_squares(int64_t n, float scale, float* out, const Values& values) {
  CanonSums squares;
  with_scale(scale, [&](const auto& scaled) {
    each_vector(n, [&](int64_t i, int64_t count) {
      const Vector value = scaled(values(i, count)), factor = canon::flush_for_product(up_to(count, value));
      put(value, out + i, count);
      squares.add(i, hn::Mul(factor, factor));
    });
  });
  return squares.total();
}
// The power of two with which a row of such values is scaled.
template <class Values>
HWY_INLINE float scale_of(int64_t n, uint32_t least, const Values& values) {
  auto most = hn::Zero(Magnitudes());
  each_vector(n, [&](int64_t i, int64_t count) { most = hn::Max(most, magnitude(up_to(count, values(i, count)))); });
  return canon_row_scale(largest_of(most, least));
}

void canon_rmsnorm(const NormRow& row, float* out, int64_t n) {
  const auto values = [&](int64_t i, int64_t count) { return row_values(row, i, count); };
  const float scale = scale_of(n, bits_near_root(row.eps), values);
  const float mean = scalar_times(canon_squares(n, scale, out, values), scalar_reciprocal(static_cast<float>(n)));
  const Vector inverse = canon::set(scalar_root(scalar_plus(mean, scalar_times(scalar_times(row.eps, scale), scale))));
  each_vector(
      n, [&](int64_t i, int64_t count) { put_normal(row, hn::Mul(take(out + i, count), inverse), out, i, count); });
}

void canon_l2_normalize(const float* x, float eps, float* out, int64_t n) {
  const auto values = [&](int64_t i, int64_t count) { return canon::flushed(take(x + i, count)); };
  const float scale = scale_of(n, bits_of_float(eps), values);
  const float squares = canon_squares(n, scale, out, values), least = scalar_times(eps, scale);
  const float inverse = scalar_root(squares);
  // The inverse of the length, or of eps if that is larger.
  const bool is_short = scalar_times(squares, inverse) < least;
  const Vector factor = canon::set(is_short ? scalar_reciprocal(least) : inverse);
  map(out, out, n, [&](Vector v) { return canon::canonical(hn::Mul(v, factor)); });
}

// The power of two that scales the largest magnitude near 1, and its inverse.
HWY_INLINE auto exponent_of(Vector largest) {
  const hn::RebindToUnsigned<Floats> du;
  const auto exponent = hn::And(hn::ShiftRight<23>(canon::bits_of(largest)), hn::Set(du, 255));
  return hn::Min(hn::Max(exponent, hn::Set(du, 1)), hn::Set(du, 253));
}
HWY_INLINE Vector scale_down(Vector largest) {
  const hn::RebindToUnsigned<Floats> du;
  return hn::BitCast(Floats(), hn::ShiftLeft<23>(hn::Sub(hn::Set(du, 254), exponent_of(largest))));
}
HWY_INLINE Vector scale_up(Vector largest) { return hn::BitCast(Floats(), hn::ShiftLeft<23>(exponent_of(largest))); }

void canon_add_element(Reduction kind, const float* x, const float* largest, float* sums, int64_t n) {
  each_vector(n, [&](int64_t i, int64_t count) {
    const Vector v = canon::flushed(take(x + i, count)), sum = take(sums + i, count);
    if (kind == Reduction::Product) return put(canon::times(sum, v), sums + i, count);
    Vector summand = canon::flush_for_sum(v);
    if (kind == Reduction::LogSumExp) summand = canon::exp(canon::minus(v, take(largest + i, count)));
    if (kind == Reduction::L2) {
      const Vector scaled = canon::flush_for_product(canon::times(v, scale_down(take(largest + i, count))));
      summand = hn::Mul(scaled, scaled);
    }
    put(hn::Add(sum, summand), sums + i, count);
  });
}
void canon_join(Reduction kind, const float* x, float* sums, int64_t n) {
  map(x, sums, sums, n,
      [&](Vector v, Vector sum) { return kind == Reduction::Product ? canon::times(sum, v) : hn::Add(sum, v); });
}
void canon_finish(Reduction kind, const float* sums, const float* largest, int64_t count, float* out, int64_t n) {
  const Vector each = canon::set(count == 0 ? 0.0f : scalar_reciprocal(static_cast<float>(count)));
  each_vector(n, [&](int64_t i, int64_t some) {
    const Vector sum = take(sums + i, some);
    Vector made = sum;
    if (kind == Reduction::Mean) made = count == 0 ? hn::Zero(Floats()) : hn::Mul(sum, each);
    if (kind == Reduction::LogSumExp || kind == Reduction::L2) {
      const Vector most = take(largest + i, some);
      made = kind == Reduction::L2 ? hn::Mul(canon::root(sum), scale_up(most)) : hn::Add(most, canon::log(sum));
      made = hn::IfThenElse(hn::IsFinite(most), made, most);
    }
    put(canon::canonical(made), out + i, some);
  });
}
void canon_flush(const float* x, float* out, int64_t n) {
  map(x, out, n, [](Vector v) { return canon::canonical(v); });
}

// Cosine and sine of an angle as in shaders/shared/turn.glsl.
void canon_turn(uint32_t angle, float* cosine, float* sine) {
  const uint32_t quarter = (angle + 0x20000000u) >> 30;
  const auto part = static_cast<float>(static_cast<int32_t>(angle - (quarter << 30)));
  const Vector a = hn::Mul(canon::set(part), canon::set(6.28318530718f / 4294967296.0f)), z = hn::Mul(a, a);
  Vector s = canon::multiply_add(z, canon::set(-0.000195172979f), 0.008332178f);
  s = canon::multiply_add(z, s, -0.166666552f);
  s = canon::multiply_add(hn::Mul(a, z), s, a);
  Vector c = canon::multiply_add(z, canon::set(2.44384501e-05f), -0.00138873677f);
  c = canon::multiply_add(z, c, 0.0416666456f);
  c = canon::multiply_add(hn::Mul(z, z), c, hn::Sub(canon::set(1.0f), hn::Mul(canon::set(0.5f), z)));
  const float sin = hn::GetLane(s), cos = hn::GetLane(c);
  const float first = (quarter & 1) == 0 ? cos : -sin, second = (quarter & 1) == 0 ? sin : cos;
  *cosine = (quarter & 2) == 0 ? first : -first;
  *sine = (quarter & 2) == 0 ? second : -second;
}
void canon_rotate(float cosine, float sine, float* a, float* b) {
  const float x = scalar(*a, [](Vector v) { return canon::flushed(v); });
  const float y = scalar(*b, [](Vector v) { return canon::flushed(v); });
  const float first = scalar_minus(scalar_times(x, cosine), scalar_times(y, sine));
  const float second = scalar_plus(scalar_times(y, cosine), scalar_times(x, sine));
  *a = scalar(first, [](Vector v) { return canon::canonical(v); });
  *b = scalar(second, [](Vector v) { return canon::canonical(v); });
}

void canon_dropout(const DropoutRule& rule, uint64_t first, const float* x, float* out, int64_t n) {
  canon_flush(x, out, n);
  row_table()->dropout(rule, first, out, out, n);  // a multiplication, or zero
  canon_flush(out, out, n);
}

}  // namespace

const RowKernels* canon_row_table() {
  static const CanonKernels kCanon = {
      canon_l2_normalize, canon_add_element, canon_join,   canon_finish, softmax_row<LogSumExp::Made>,
      canon_flush,        canon_turn,        canon_rotate, canon_loss,   canon_loss_backward,
      canon_l2_backward};
  static const RowKernels kKernels = [] {
    RowKernels kernels = *row_table();
    kernels.canon = &kCanon;
    kernels.apply = functions::apply<CanonVectors>;
    kernels.activate = canon_activate;
    kernels.activate_backward = canon_activate_backward;
    kernels.add = canon_add;
    kernels.multiply = canon_multiply;
    kernels.scale = canon_scale;
    kernels.softmax = canon_softmax;
    kernels.largest = nullptr;
    kernels.powers = nullptr;
    kernels.layernorm = canon_layernorm;
    kernels.rmsnorm = canon_rmsnorm;
    kernels.softmax_backward = canon_softmax_backward;
    kernels.layernorm_backward = canon_layernorm_backward;
    kernels.rmsnorm_backward = canon_rmsnorm_backward;
    kernels.dropout = canon_dropout;
    return kernels;
  }();
  return &kKernels;
}

}  // namespace HWY_NAMESPACE
}  // namespace heed::cpu
HWY_AFTER_NAMESPACE();

#endif

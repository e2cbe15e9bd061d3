// RowKernels whose bits are the same on every device; tests/reproducible/README.md has the rules.
#include <algorithm>
#include <limits>

#include "base/half.hpp"
#include "cpu/kernels.hpp"
#include "cpu/row_kernels.hpp"
#include "cpu/targets.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "cpu/canon_rows.cpp"
#include "hwy/foreach_target.h"  // IWYU pragma: keep
//
#include "cpu/canon-inl.hpp"
#include "cpu/canon_rows-inl.hpp"
#include "cpu/dispatch.hpp"
#include "cpu/philox-inl.hpp"
#include "cpu/vector_loops-inl.hpp"
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace heed::cpu {
namespace HWY_NAMESPACE {

const RowKernels* row_table();  // row_kernels.cpp

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

// The largest visible logit, or NaN if one is; the least finite number if there is none. `seen`: whether there is one.
float canon_largest(const float* logits, int64_t n, bool* seen) {
  const Vector hidden = canon::set(-std::numeric_limits<float>::infinity());
  Vector most = hidden;
  bool nan = false, any = false;
  each_vector(n, [&](int64_t i, int64_t count) {
    const Vector v = count == lanes() ? hn::LoadU(Floats(), logits + i)
                                      : load_some(logits + i, count, -std::numeric_limits<float>::infinity());
    nan = nan || !hn::AllFalse(Floats(), hn::IsNaN(v));
    any = any || !hn::AllTrue(Floats(), hn::Eq(v, hidden));
    most = hn::IfThenElse(hn::Gt(v, most), v, most);
  });
  *seen = any;
  return nan ? std::numeric_limits<float>::quiet_NaN() : hn::GetLane(hn::MaxOfLanes(Floats(), most));
}

void canon_softmax(const float* x, float factor, float* out, int64_t n, const float*) {
  const Vector by = canon::set(factor), hidden = canon::set(-std::numeric_limits<float>::infinity());
  each_vector(
      n, [&](int64_t i, int64_t count) { put(canon::times(canon::flushed(take(x + i, count)), by), out + i, count); });
  bool seen = false;
  const Vector largest = canon::set(canon_largest(out, n, &seen));
  if (!seen) return static_cast<void>(std::fill_n(out, n, 0.0f));
  CanonSums sums;
  each_vector(n, [&](int64_t i, int64_t count) {
    const Vector v = take(out + i, count), e = canon::exp(canon::minus(v, largest));
    const Vector power = up_to(count, hn::IfThenZeroElse(hn::Eq(v, hidden), e));
    put(power, out + i, count);
    sums.add(i, power);
  });
  const Vector inverse = canon::set(scalar_reciprocal(sums.total()));
  map(out, out, n, [&](Vector e) {
    return hn::IfThenZeroElse(hn::Eq(e, hn::Zero(Floats())), canon::canonical(hn::Mul(e, inverse)));
  });
}

// Element i and those behind it of x + residual.
HWY_INLINE Vector row_values(const NormRow& row, int64_t i, int64_t count) {
  const Vector x = canon::flushed(take(row.x + i, count));
  return row.residual == nullptr ? x : canon::plus(x, canon::flushed(take(row.residual + i, count)));
}
HWY_INLINE void put_normal(const NormRow& row, Vector value, float* out, int64_t i, int64_t count) {
  if (row.gamma != nullptr) value = canon::times(value, canon::flushed(take(row.gamma + i, count)));
  if (row.beta != nullptr) value = canon::plus(value, canon::flushed(take(row.beta + i, count)));
  put(canon::canonical(value), out + i, count);
}

void canon_layernorm_row(const NormRow& row, float* out, int64_t n) {
  const float each = scalar_reciprocal(static_cast<float>(n));
  const float first = hn::GetLane(row_values(row, 0, 1));
  const Vector shift = canon::set(first);
  CanonSums sums;
  CanonMagnitudes magnitudes;
  each_vector(n, [&](int64_t i, int64_t count) {
    const Vector difference = up_to(count, canon::minus(row_values(row, i, count), shift));
    sums.add(i, canon::on_grid(difference));
    magnitudes.add(difference);
  });
  const float scale = canon_row_scale(magnitudes.largest(bits_near_root(row.eps)));
  const float mean = scalar_plus(first, scalar_times(sums.total(), each));
  const Vector center = canon::set(mean), by = canon::set(scale);
  CanonSums deviations, squares;
  const auto deviation = [&](int64_t i, int64_t count) {
    return canon::times(canon::minus(row_values(row, i, count), center), by);
  };
  each_vector(n, [&](int64_t i, int64_t count) {
    const Vector each_deviation = up_to(count, deviation(i, count)), factor = canon::coarse(each_deviation);
    deviations.add(i, canon::on_grid(each_deviation));
    squares.add(i, hn::Mul(factor, factor));
  });
  const float rest = scalar_times(deviations.total(), each);
  const float difference = scalar_minus(scalar_times(squares.total(), each), scalar_times(rest, rest));
  const float variance = difference < 0.0f ? 0.0f : difference;
  const float eps = scalar_times(scalar_times(row.eps, scale), scale);
  const Vector inverse = canon::set(scalar_root(scalar_plus(variance, eps))), left_over = canon::set(rest);
  each_vector(n, [&](int64_t i, int64_t count) {
    put_normal(row, canon::times(canon::minus(deviation(i, count), left_over), inverse), out, i, count);
  });
}
void canon_layernorm(const NormRow* rows, float* const* outs, int64_t count, int64_t n) {
  for (int64_t r = 0; r < count; ++r) canon_layernorm_row(rows[r], outs[r], n);
}

// Sum of the squares of scaled values.
template <class Values>
HWY_INLINE float canon_squares(int64_t n, Vector by, const Values& values) {
  CanonSums squares;
  each_vector(n, [&](int64_t i, int64_t count) {
    const Vector factor = canon::coarse(canon::times(up_to(count, values(i, count)), by));
    squares.add(i, hn::Mul(factor, factor));
  });
  return squares.total();
}

void canon_rmsnorm(const NormRow& row, float* out, int64_t n) {
  CanonMagnitudes magnitudes;
  const auto values = [&](int64_t i, int64_t count) { return row_values(row, i, count); };
  each_vector(n, [&](int64_t i, int64_t count) { magnitudes.add(up_to(count, values(i, count))); });
  const float scale = canon_row_scale(magnitudes.largest(bits_near_root(row.eps)));
  const Vector by = canon::set(scale);
  const float mean = scalar_times(canon_squares(n, by, values), scalar_reciprocal(static_cast<float>(n)));
  const Vector inverse = canon::set(scalar_root(scalar_plus(mean, scalar_times(scalar_times(row.eps, scale), scale))));
  each_vector(n, [&](int64_t i, int64_t count) {
    put_normal(row, canon::times(canon::times(values(i, count), by), inverse), out, i, count);
  });
}

void canon_l2_normalize(const float* x, float eps, float* out, int64_t n) {
  CanonMagnitudes magnitudes;
  const auto values = [&](int64_t i, int64_t count) { return canon::flushed(take(x + i, count)); };
  each_vector(n, [&](int64_t i, int64_t count) { magnitudes.add(up_to(count, values(i, count))); });
  const float scale = canon_row_scale(magnitudes.largest(bits_of_float(eps)));
  const Vector by = canon::set(scale);
  const float squares = canon_squares(n, by, values), least = scalar_times(eps, scale);
  const float inverse = scalar_root(squares);
  // The inverse is that of the length, or of eps where that is larger.
  const bool is_short = scalar_times(squares, inverse) < least;
  const Vector factor = canon::set(is_short ? scalar_reciprocal(least) : inverse);
  each_vector(n, [&](int64_t i, int64_t count) {
    put(canon::canonical(hn::Mul(canon::times(values(i, count), by), factor)), out + i, count);
  });
}

void canon_add_to(const float* x, float* sums, int64_t n) {
  map(x, sums, sums, n, [](Vector v, Vector sum) { return hn::Add(sum, canon::on_grid(v)); });
}
void canon_mean(const float* sums, int64_t count, float* out, int64_t n) {
  const Vector each = canon::set(count == 0 ? 0.0f : scalar_reciprocal(static_cast<float>(count)));
  map(sums, out, n, [&](Vector sum) { return canon::canonical(count == 0 ? hn::Zero(Floats()) : hn::Mul(sum, each)); });
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
  row_table()->dropout(rule, first, out, out, n);  // one multiplication, or a zero
  canon_flush(out, out, n);
}

}  // namespace

const RowKernels* canon_row_table() {
  static const CanonKernels kCanon = {canon_l2_normalize, canon_add_to,        canon_mean,
                                      canon_flush,        canon_turn,          canon_rotate,
                                      canon_loss,         canon_loss_backward, canon_l2_backward};
  static const RowKernels kKernels = [] {
    RowKernels kernels = *row_table();
    kernels.canon = &kCanon;
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

#if HWY_ONCE
namespace heed::cpu {
HWY_EXPORT(canon_row_table);
const RowKernels* canon_row_kernels(int64_t target) { return HEED_FOR_TARGET(canon_row_table, target)(); }
}  // namespace heed::cpu
#endif

// Arithmetic with the same bits on every device (CompileOptions::reproducible). tests/reproducible/README.md has the rules,
// shaders/shared/canon.glsl the same functions for GPUs. Included once per instruction set (see Highway's foreach_target.h), by files that
// are compiled without contraction.
#if defined(HEED_CPU_CANON_INL) == defined(HWY_TARGET_TOGGLE)
#ifdef HEED_CPU_CANON_INL
#undef HEED_CPU_CANON_INL
#else
#define HEED_CPU_CANON_INL
#endif

#if defined(_MSC_VER)
#pragma fp_contract(off)
#endif

#include <heed/graph.hpp>

#include "cpu/simd/activation_type-inl.hpp"
#include "cpu/simd/vector_loops-inl.hpp"
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace heed::cpu {
namespace HWY_NAMESPACE {
namespace canon {

HWY_INLINE Vector set(float x) { return hn::Set(Floats(), x); }
HWY_INLINE Vector of_bits(uint32_t bits) {
  return hn::BitCast(Floats(), hn::Set(hn::RebindToUnsigned<Floats>(), bits));
}

// Magnitudes up to 2^-126 become 0, since a device may flush smaller ones, or round them up to that.
HWY_INLINE Vector flushed(Vector x) { return hn::IfThenZeroElse(hn::Le(hn::Abs(x), set(0x1p-126f)), x); }
// flush_for_product sets magnitudes below 2^-51 to 0, flush_for_sum those below 2^-102. Products of the former, and the latter themselves,
// are multiples of 2^-125, so that none of their sums is subnormal.
HWY_INLINE Vector flush_for_product(Vector x) { return hn::IfThenZeroElse(hn::Lt(hn::Abs(x), set(0x1p-51f)), x); }
HWY_INLINE Vector flush_for_sum(Vector x) { return hn::IfThenZeroElse(hn::Lt(hn::Abs(x), set(0x1p-102f)), x); }
// Every result is stored in this form: all NaN get the same bits.
HWY_INLINE Vector canonical(Vector x) { return hn::IfThenElse(hn::IsNaN(x), of_bits(0x7fc00000u), flushed(x)); }

HWY_INLINE Vector times(Vector a, Vector b) { return flushed(hn::Mul(a, b)); }
HWY_INLINE Vector plus(Vector a, Vector b) { return flushed(hn::Add(a, b)); }
HWY_INLINE Vector minus(Vector a, Vector b) { return flushed(hn::Sub(a, b)); }
// c + a b, with two roundings.
HWY_INLINE Vector multiply_add(Vector a, Vector b, Vector c) { return hn::Add(hn::Mul(a, b), c); }
HWY_INLINE Vector multiply_add(Vector a, Vector b, float c) { return multiply_add(a, b, set(c)); }
HWY_INLINE Vector multiply_add(float a, Vector b, float c) { return multiply_add(set(a), b, set(c)); }

// The upper 12 bits of x's mantissa; the rest has 12, too, so that products of such parts are exact.
HWY_INLINE Vector upper_part(Vector x) { return hn::And(x, of_bits(0xfffff000u)); }
HWY_INLINE auto bits_of(Vector x) { return hn::BitCast(hn::RebindToUnsigned<Floats>(), x); }

// 1 / x for 2^-64 <= x <= 2^64, with an error below 1 ulp: three Newton steps, then one with an exact remainder.
HWY_INLINE Vector reciprocal(Vector x) {
  const hn::RebindToUnsigned<Floats> du;
  const Vector one = set(1.0f), two = set(2.0f);
  Vector y = hn::BitCast(Floats(), hn::Sub(hn::Set(du, 0x7ef311c3u), bits_of(x)));
  for (int i = 0; i < 3; ++i) y = hn::Mul(y, hn::Sub(two, hn::Mul(x, y)));
  const Vector xh = upper_part(x), xl = hn::Sub(x, xh), yh = upper_part(y), yl = hn::Sub(y, yh);
  Vector rest = hn::Sub(one, hn::Mul(xh, yh));
  rest = hn::Sub(rest, hn::Mul(xh, yl));
  rest = hn::Sub(rest, hn::Mul(xl, yh));
  rest = hn::Sub(rest, hn::Mul(xl, yl));
  return multiply_add(y, rest, y);
}

// 1 / sqrt(x), with an error below 2 ulp for 2^-126 < x <= 2^64; some finite number for 0.
HWY_INLINE Vector reciprocal_root(Vector x) {
  const hn::RebindToUnsigned<Floats> du;
  Vector y = hn::BitCast(Floats(), hn::Sub(hn::Set(du, 0x5f375a86u), hn::ShiftRight<1>(bits_of(x))));
  const Vector half = hn::Mul(set(0.5f), x), three_halves = set(1.5f);
  for (int i = 0; i < 4; ++i) y = hn::Mul(y, hn::Sub(three_halves, hn::Mul(hn::Mul(half, y), y)));
  return y;
}

// 2^n, where n is in the low bits of `shifted` = n + 1.5 * 2^23.
HWY_INLINE Vector power_of_two(Vector shifted) {
  const hn::RebindToUnsigned<Floats> du;
  return hn::BitCast(Floats(), hn::Add(hn::ShiftLeft<23>(bits_of(shifted)), hn::Set(du, 0x3f800000u)));
}

// x clamped to low .. high; NaN stays.
HWY_INLINE Vector within(Vector x, float low, float high) {
  const Vector bounded = hn::IfThenElse(hn::Lt(x, set(low)), set(low), x);
  return hn::IfThenElse(hn::Gt(x, set(high)), set(high), bounded);
}

// Magnitudes below 2^-30 become 0, so that no power of exp's remainder is subnormal.
HWY_INLINE Vector exponent(Vector x) { return hn::IfThenZeroElse(hn::Lt(hn::Abs(x), set(0x1p-30f)), x); }
// e^x for a bounded exponent; 0 if `any`, from which it was computed, is below -87.
HWY_INLINE Vector bounded_exp(Vector x, Vector any) {
  const Vector rounder = set(12582912.0f);
  const Vector shifted = multiply_add(x, set(1.44269504f), rounder), n = hn::Sub(shifted, rounder);
  Vector r = hn::Sub(x, hn::Mul(n, set(0.693359375f)));
  r = hn::Add(r, hn::Mul(n, set(2.12194440e-4f)));
  Vector e = multiply_add(1.38145406e-3f, r, 8.36874545e-3f);
  e = multiply_add(e, r, 4.16683890e-2f);
  e = multiply_add(e, r, 1.66665211e-1f);
  e = multiply_add(e, r, 0.5f);
  e = multiply_add(e, hn::Mul(r, r), r);
  e = hn::Add(e, set(1.0f));
  return hn::IfThenZeroElse(hn::Lt(any, set(-87.0f)), hn::Mul(e, power_of_two(shifted)));
}
// e^x, with an error below 2 ulp; 0 below -87, e^88 above 88.
HWY_INLINE Vector exp(Vector x) { return bounded_exp(within(exponent(x), -87.0f, 88.0f), x); }
// The same for x <= 0 that is not NaN.
HWY_INLINE Vector exp_up_to_1(Vector x) { return bounded_exp(hn::Max(exponent(x), set(-87.0f)), x); }

// sqrt(x), with an error below 3 ulp; 0 below 2^-102.
HWY_INLINE Vector root(Vector x) {
  const Vector y = flush_for_sum(x);
  return hn::IfThenZeroElse(hn::Eq(y, hn::Zero(Floats())), times(y, reciprocal_root(y)));
}

// log(x), with an error below 2 ulp from 1 on: x = 2^n m with m between sqrt(1/2) and sqrt(2), and a polynomial of m - 1.
HWY_INLINE Vector log(Vector x) {
  const hn::RebindToUnsigned<Floats> du;
  const hn::RebindToSigned<Floats> di;
  const auto least = hn::Set(du, 0x3f3504f3u), bits = hn::Sub(bits_of(x), least);
  const Vector n = hn::ConvertTo(Floats(), hn::ShiftRight<23>(hn::BitCast(di, bits)));
  const Vector m = hn::BitCast(Floats(), hn::Add(hn::And(bits, hn::Set(du, 0x007fffffu)), least));
  const Vector f = hn::Sub(m, set(1.0f)), square = hn::Mul(f, f);
  Vector y = multiply_add(7.03768363e-2f, f, -1.15146103e-1f);
  y = multiply_add(y, f, 1.16769987e-1f);
  y = multiply_add(y, f, -1.24201408e-1f);
  y = multiply_add(y, f, 1.42493229e-1f);
  y = multiply_add(y, f, -1.66680578e-1f);
  y = multiply_add(y, f, 2.00007148e-1f);
  y = multiply_add(y, f, -2.49999940e-1f);
  y = multiply_add(y, f, 3.33333312e-1f);
  y = hn::Mul(hn::Mul(y, f), square);
  y = hn::Add(y, hn::Mul(n, set(-2.12194440e-4f)));
  y = hn::Add(f, hn::Add(y, hn::Mul(square, set(-0.5f))));
  return hn::Add(y, hn::Mul(n, set(0.693359375f)));
}

// 1 - e^x for x <= 0, by a series where the difference would lose all digits.
HWY_INLINE Vector one_less_power(Vector x) {
  Vector y = multiply_add(2.75573192e-6f, x, 2.48015873e-5f);
  y = multiply_add(y, x, 1.98412698e-4f);
  y = multiply_add(y, x, 1.38888889e-3f);
  y = multiply_add(y, x, 8.33333333e-3f);
  y = multiply_add(y, x, 4.16666667e-2f);
  y = multiply_add(y, x, 1.66666667e-1f);
  y = multiply_add(y, x, 0.5f);
  y = multiply_add(y, x, 1.0f);
  return hn::IfThenElse(hn::Lt(x, set(-0.5f)), hn::Sub(set(1.0f), exp(x)), times(hn::Neg(x), y));
}

// 1 / (1 + e^-x), within (0, 1).
HWY_INLINE Vector sigmoid(Vector x) {
  const Vector e = exp(hn::Neg(hn::Abs(x))), whole = reciprocal(hn::Add(set(1.0f), e));
  return hn::IfThenElse(hn::Lt(x, set(0.0f)), times(e, whole), whole);
}

// Phi(-t) = 2^(polynomial of t) for 0 <= t <= 6, as in vector_math-inl.hpp.
HWY_INLINE Vector normal_tail(Vector t) {
  const Vector t2 = hn::Mul(t, t);
  Vector q = multiply_add(set(-1.74112724e-8f), t2, multiply_add(5.65994128e-7f, t, -7.84307213e-6f));
  q = multiply_add(q, t2, multiply_add(5.84889312e-5f, t, -2.19328926e-4f));
  q = multiply_add(q, t2, multiply_add(-1.19846773e-4f, t, 7.08339456e-3f));
  q = multiply_add(q, t2, multiply_add(-5.25237918e-2f, t, -4.59198058e-1f));
  q = multiply_add(q, t2, multiply_add(-1.15110624f, t, -1.0f));
  const Vector rounder = set(12582912.0f), shifted = hn::Add(q, rounder);
  const Vector r = hn::Sub(q, hn::Sub(shifted, rounder));
  Vector e = multiply_add(1.32647273e-3f, r, 9.67151299e-3f);
  e = multiply_add(e, r, 5.55073358e-2f);
  e = multiply_add(e, r, 2.40222424e-1f);
  e = multiply_add(e, r, 6.93147004e-1f);
  e = multiply_add(e, r, 1.0f);
  return hn::Mul(e, power_of_two(shifted));
}

// x Phi(x) = max(x, 0) - t Phi(-t), t = |x|.
HWY_INLINE Vector gelu_erf(Vector x) {
  const Vector zero = set(0.0f), positive = hn::IfThenElse(hn::Lt(x, zero), zero, x);
  const auto beyond = hn::Gt(hn::Abs(x), set(6.0f));
  const Vector t = hn::IfThenElse(beyond, set(6.0f), hn::Abs(x));
  return hn::IfThenElse(beyond, positive, minus(positive, times(t, normal_tail(t))));
}

HWY_INLINE Vector gelu_tanh(Vector x) {
  const Vector bounded = within(x, -1.0e4f, 1.0e4f);
  const Vector cubic = multiply_add(hn::Mul(bounded, bounded), set(0.044715f), 1.0f);
  const Vector twice = hn::Mul(hn::Mul(bounded, cubic), set(1.59576912f));
  return hn::IfThenZeroElse(hn::Lt(twice, set(-87.0f)), times(x, sigmoid(twice)));
}

HWY_INLINE Vector silu(Vector x) { return hn::IfThenZeroElse(hn::Lt(x, set(-87.0f)), times(x, sigmoid(x))); }

// An odd polynomial below 0.625, (1 - e) / (1 + e) with e = e^-2|x| above.
HWY_INLINE Vector tanh(Vector x) {
  const Vector t = hn::Abs(x), s = hn::Mul(x, x), one = set(1.0f);
  Vector p = multiply_add(-5.70493331e-3f, s, 2.06390414e-2f);
  p = multiply_add(p, s, -5.37397005e-2f);
  p = multiply_add(p, s, 1.33314416e-1f);
  p = multiply_add(p, s, -3.33332807e-1f);
  const Vector near = multiply_add(hn::Mul(p, s), x, x);
  const Vector e = exp(hn::Mul(t, set(-2.0f)));
  const Vector far = hn::Mul(hn::Sub(one, e), reciprocal(hn::Add(one, e)));
  const Vector signed_far = hn::IfThenElse(hn::Lt(x, set(0.0f)), hn::Neg(far), far);
  return hn::IfThenElse(hn::Lt(t, set(0.625f)), near, signed_far);
}

// Phi(x) + x phi(x).
HWY_INLINE Vector gelu_erf_derivative(Vector x) {
  const Vector one = set(1.0f), zero = set(0.0f);
  const auto beyond = hn::Gt(hn::Abs(x), set(6.0f)), negative = hn::Lt(x, zero);
  const Vector t = hn::IfThenElse(beyond, set(6.0f), hn::Abs(x)), tail = normal_tail(t);
  const Vector slope = times(t, hn::Mul(exp(hn::Mul(hn::Mul(t, t), set(-0.5f))), set(0.398942280f)));
  const Vector near = hn::IfThenElse(negative, minus(tail, slope), plus(hn::Sub(one, tail), slope));
  return hn::IfThenElse(beyond, hn::IfThenElse(negative, zero, one), near);
}

HWY_INLINE Vector gelu_tanh_derivative(Vector x) {
  const Vector limited = within(x, -9.0f, 9.0f), square = hn::Mul(limited, limited), root = set(1.59576912f);
  const Vector twice = hn::Mul(hn::Mul(limited, multiply_add(square, set(0.044715f), 1.0f)), root);
  const Vector slope = hn::Mul(multiply_add(square, set(0.134145f), 1.0f), root);
  return times(sigmoid(twice), plus(set(1.0f), times(times(limited, slope), sigmoid(hn::Neg(twice)))));
}

HWY_INLINE Vector silu_derivative(Vector x) {
  const Vector limited = within(x, -87.0f, 87.0f);
  return times(sigmoid(limited), plus(set(1.0f), times(limited, sigmoid(hn::Neg(limited)))));
}

HWY_INLINE Vector tanh_derivative(Vector x) {
  const Vector t = hn::IfThenElse(hn::Gt(hn::Abs(x), set(40.0f)), set(40.0f), hn::Abs(x));
  const Vector e = exp(hn::Mul(t, set(-2.0f))), inverse = reciprocal(hn::Add(set(1.0f), e));
  return hn::Mul(hn::Mul(hn::Mul(set(4.0f), e), inverse), inverse);
}

// The activation as a type, so that vector loops are compiled for each. It takes and returns a flushed value.
template <Activation kKind>
struct Activate {
  HWY_INLINE Vector operator()(Vector x) const {
    Vector y = x;
    if constexpr (kKind == Activation::Relu) return hn::IfThenElse(hn::Lt(x, set(0.0f)), set(0.0f), x);
    if constexpr (kKind == Activation::GeluErf) y = gelu_erf(x);
    if constexpr (kKind == Activation::GeluTanh) y = gelu_tanh(x);
    if constexpr (kKind == Activation::Silu) y = silu(x);
    if constexpr (kKind == Activation::Tanh) y = tanh(x);
    return kKind == Activation::None ? x : hn::IfThenElse(hn::IsNaN(x), x, flushed(y));
  }
  HWY_INLINE Vector derivative(Vector x) const {
    Vector y = set(1.0f);
    if constexpr (kKind == Activation::Relu) y = hn::IfThenElseZero(hn::Gt(x, set(0.0f)), y);
    if constexpr (kKind == Activation::GeluErf) y = gelu_erf_derivative(x);
    if constexpr (kKind == Activation::GeluTanh) y = gelu_tanh_derivative(x);
    if constexpr (kKind == Activation::Silu) y = silu_derivative(x);
    if constexpr (kKind == Activation::Tanh) y = tanh_derivative(x);
    return hn::IfThenElse(hn::IsNaN(x), x, y);
  }
};

template <class F>
HWY_INLINE void with_activation(Activation kind, const F& f) {
  activation_as_type<Activate>(kind, f);
}

}  // namespace canon
}  // namespace HWY_NAMESPACE
}  // namespace heed::cpu
HWY_AFTER_NAMESPACE();

#endif

// Elementary functions of vectors of f32. Included once per instruction set (see Highway's foreach_target.h).
//
// Polynomials are weighted minimax fits; the stated errors were measured over a dense sample of floats, and tests/cpu/kernels_test.cpp
// checks them.
#if defined(HEED_CPU_VECTOR_MATH_INL) == defined(HWY_TARGET_TOGGLE)
#ifdef HEED_CPU_VECTOR_MATH_INL
#undef HEED_CPU_VECTOR_MATH_INL
#else
#define HEED_CPU_VECTOR_MATH_INL
#endif

#include <heed/graph.hpp>

#include "cpu/simd/activation_type-inl.hpp"
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace heed::cpu {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// AVX-512 multiplies by a power of two and masks lanes in one instruction. Other sets add to the exponent's bits and mask lanes afterwards.
#undef HEED_SCALES
#if HWY_ARCH_X86 && HWY_TARGET <= HWY_AVX3
#define HEED_SCALES 1
using Vector512 = hn::Vec512<float>;
// e 2^n for an integer n; 0 where x < least, for any e and n.
HWY_INLINE Vector512 scale_from(Vector512 x, float least, Vector512 e, Vector512 n) {
  const __mmask16 kept = _mm512_cmp_ps_mask(x.raw, _mm512_set1_ps(least), _CMP_NLT_UQ);
  return Vector512{_mm512_maskz_scalef_ps(kept, e.raw, n.raw)};
}
HWY_INLINE Vector512 scale(Vector512 e, Vector512 n) { return Vector512{_mm512_scalef_ps(e.raw, n.raw)}; }
// c - x y; c where x > most, for any y.
HWY_INLINE Vector512 subtract_up_to(Vector512 x, float most, Vector512 y, Vector512 c) {
  const __mmask16 kept = _mm512_cmp_ps_mask(x.raw, _mm512_set1_ps(most), _CMP_NGT_UQ);
  return Vector512{_mm512_mask3_fnmadd_ps(x.raw, y.raw, c.raw, kept)};
}
#else
#define HEED_SCALES 0
#endif

// e^x, relative error below 2 ulp, for x in [-87.3, 88]; 0 below, where e^x is not a normal float. Undefined above 88. NaN stays NaN. x = n
// ln2 + r with |r| <= ln2 / 2.
template <class D, class V>
HWY_INLINE V vector_exp_to_88(D d, V x) {
#if HEED_SCALES
  const V n = hn::Round(hn::Mul(x, hn::Set(d, 1.44269504f)));
#else
  const hn::RebindToSigned<D> di;
  // Adding 1.5 * 2^23 rounds to an integer, which is then in the low bits.
  const V rounder = hn::Set(d, 12582912.0f);
  const V shifted = hn::MulAdd(x, hn::Set(d, 1.44269504f), rounder);
  const V n = hn::Sub(shifted, rounder);
#endif
  // ln2 is the sum of two constants. The first has 9 bits, so that n times it is exact.
  V r = hn::NegMulAdd(n, hn::Set(d, 0.693359375f), x);
  r = hn::NegMulAdd(n, hn::Set(d, -2.12194440e-4f), r);
  V e = hn::Set(d, 1.38145406e-3f);
  e = hn::MulAdd(e, r, hn::Set(d, 8.36874545e-3f));
  e = hn::MulAdd(e, r, hn::Set(d, 4.16683890e-2f));
  e = hn::MulAdd(e, r, hn::Set(d, 1.66665211e-1f));
  e = hn::MulAdd(e, r, hn::Set(d, 0.5f));
  e = hn::MulAdd(e, hn::Mul(r, r), r);
  e = hn::Add(e, hn::Set(d, 1.0f));
#if HEED_SCALES
  return scale_from(x, -87.3f, e, n);
#else
  const auto exponent = hn::Add(hn::ShiftLeft<23>(hn::BitCast(di, shifted)), hn::Set(di, 0x3f800000));
  const V y = hn::Mul(e, hn::BitCast(d, exponent));
  return hn::IfThenZeroElse(hn::Lt(x, hn::Set(d, -87.3f)), y);
#endif
}

// The same for any x: e^88 above 88.
template <class D, class V>
HWY_INLINE V vector_exp(D d, V x) {
  const V most = hn::Set(d, 88.0f);
  return vector_exp_to_88(d, hn::IfThenElse(hn::Gt(x, most), most, x));
}

// max(x, least); NaN stays NaN.
template <class D, class V>
HWY_INLINE V vector_at_least(D d, V x, float least) {
  const V bound = hn::Set(d, least);
#if HWY_TARGET == HWY_SCALAR || HWY_TARGET == HWY_EMU128
  return hn::IfThenElse(hn::Lt(x, bound), bound, x);
#else
  return hn::Max(bound, x);  // x86 returns the second operand if one is NaN
#endif
}

// 2^r for |r| <= 1/2, relative error below 1.5 ulp; 1 for 0.
template <class D, class V>
HWY_INLINE V vector_exp2_half(D d, V r) {
  V e = hn::Set(d, 1.5353362e-4f);
  e = hn::MulAdd(e, r, hn::Set(d, 1.33988739e-3f));
  e = hn::MulAdd(e, r, hn::Set(d, 9.61843692e-3f));
  e = hn::MulAdd(e, r, hn::Set(d, 5.55033237e-2f));
  e = hn::MulAdd(e, r, hn::Set(d, 2.40226477e-1f));
  e = hn::MulAdd(e, r, hn::Set(d, 6.93147182e-1f));
  return hn::MulAdd(e, r, hn::Set(d, 1.0f));
}

// The same by a polynomial of one degree less. The relative error, without rounding errors, is below 1e-7.
template <class D, class V>
HWY_INLINE V vector_exp2_rough(D d, V r) {
  V e = hn::Set(d, 1.32647273e-3f);
  e = hn::MulAdd(e, r, hn::Set(d, 9.67151299e-3f));
  e = hn::MulAdd(e, r, hn::Set(d, 5.55073358e-2f));
  e = hn::MulAdd(e, r, hn::Set(d, 2.40222424e-1f));
  e = hn::MulAdd(e, r, hn::Set(d, 6.93147004e-1f));
  return hn::MulAdd(e, r, hn::Set(d, 1.0f));
}

// 2^x, relative error below 2 ulp, for x in [-126, 127]; 0 below -126.5. NaN stays NaN. This is about half the work of e^x,
// since subtracting the integer part is exact.
template <class D, class V>
HWY_INLINE V vector_exp2(D d, V x) {
#if HEED_SCALES
  const V n = hn::Round(x);
  return scale_from(x, -126.5f, vector_exp2_half(d, hn::Sub(x, n)), n);
#else
  const hn::RebindToSigned<D> di;
  const V rounder = hn::Set(d, 12582912.0f), bounded = vector_at_least(d, x, -127.0f);
  const V shifted = hn::Add(bounded, rounder);
  const V e = vector_exp2_half(d, hn::Sub(bounded, hn::Sub(shifted, rounder)));
  // For -127 the bits of the exponent are all 0, and the product is 0.
  const auto exponent = hn::Add(hn::ShiftLeft<23>(hn::BitCast(di, shifted)), hn::Set(di, 0x3f800000));
  return hn::Mul(e, hn::BitCast(d, exponent));
#endif
}

// log2 of Phi(-t) for t in [0, 6].
template <class D, class V>
HWY_INLINE V vector_log2_normal_tail(D d, V t) {
  // Pairs of coefficients are evaluated independently, for instruction-level parallelism.
  const V t2 = hn::Mul(t, t);
  const auto pair = [&](float odd, float even) HWY_ATTR { return hn::MulAdd(hn::Set(d, odd), t, hn::Set(d, even)); };
  V q = hn::MulAdd(hn::Set(d, -1.74112724e-8f), t2, pair(5.65994128e-7f, -7.84307213e-6f));
  q = hn::MulAdd(q, t2, pair(5.84889312e-5f, -2.19328926e-4f));
  q = hn::MulAdd(q, t2, pair(-1.19846773e-4f, 7.08339456e-3f));
  q = hn::MulAdd(q, t2, pair(-5.25237918e-2f, -4.59198058e-1f));
  q = hn::MulAdd(q, t2, pair(-1.15110624f, -1.0f));
  return q;
}

// x Phi(x) = max(x, 0) - t Phi(-t), t = |x|, with Phi(-t) = 2^(polynomial of t) for t in [0, 6]: relative error below
// 4e-6 on the negative side, where x (1 + erf) / 2 would lose all digits, and 2e-7 on the positive one. Below -6: 0,
// within 6e-9.
template <class D, class V>
HWY_INLINE V vector_gelu_erf(D d, V x) {
  const V t = hn::Abs(x), q = vector_log2_normal_tail(d, t);
#if HEED_SCALES
  const V n = hn::Round(q);
  return subtract_up_to(t, 6.0f, scale(vector_exp2_rough(d, hn::Sub(q, n)), n), hn::Max(x, hn::Zero(d)));
#else
  const hn::RebindToSigned<D> di;
  const V rounder = hn::Set(d, 12582912.0f), shifted = hn::Add(q, rounder);
  const V e = vector_exp2_rough(d, hn::Sub(q, hn::Sub(shifted, rounder)));
  // q >= -30 where the tail is used, so that adding to the exponent multiplies.
  const V power = hn::BitCast(d, hn::Add(hn::BitCast(di, e), hn::ShiftLeft<23>(hn::BitCast(di, shifted))));
  const V tail = hn::IfThenZeroElse(hn::Gt(t, hn::Set(d, 6.0f)), power);
  // t is clamped, since infinity times a tail of 0 would be NaN.
  return hn::NegMulAdd(hn::Min(t, hn::Set(d, 6.0f)), tail, hn::Max(x, hn::Zero(d)));
#endif
}

// x / (1 + e^-x). Below -87.9, where the quotient is not a normal float, it is 0.
template <class D, class V>
HWY_INLINE V vector_silu(D d, V x) {
  const V y = hn::Div(x, hn::Add(hn::Set(d, 1.0f), vector_exp(d, hn::Neg(x))));
  return hn::IfThenElse(hn::Lt(x, hn::Set(d, -87.9f)), hn::Zero(d), y);
}

// x / (1 + e^-2u), which is 0.5 x (1 + tanh u) without cancellation.
template <class D, class V>
HWY_INLINE V vector_gelu_tanh(D d, V x) {
  const V cubic = hn::MulAdd(hn::Mul(x, x), hn::Set(d, 0.044715f), hn::Set(d, 1.0f));
  const V twice = hn::Mul(hn::Mul(x, cubic), hn::Set(d, -2.0f * 0.797884561f));
  const V y = hn::Div(x, hn::Add(hn::Set(d, 1.0f), vector_exp(d, twice)));
  return hn::IfThenElse(hn::Gt(twice, hn::Set(d, 87.9f)), hn::Zero(d), y);
}

// tanh with a relative error below 3 ulp: an odd polynomial below 0.625, 1 - 2 / (e^2x + 1) above.
template <class D, class V>
HWY_INLINE V vector_tanh(D d, V x) {
  const V t = hn::Abs(x), one = hn::Set(d, 1.0f);
  const V s = hn::Mul(x, x);
  V p = hn::Set(d, -5.70493331e-3f);
  p = hn::MulAdd(p, s, hn::Set(d, 2.06390414e-2f));
  p = hn::MulAdd(p, s, hn::Set(d, -5.37397005e-2f));
  p = hn::MulAdd(p, s, hn::Set(d, 1.33314416e-1f));
  p = hn::MulAdd(p, s, hn::Set(d, -3.33332807e-1f));
  const V near = hn::MulAdd(hn::Mul(p, s), x, x);
  const V e = vector_exp(d, hn::Add(t, t));
  const V far = hn::Sub(one, hn::Div(hn::Set(d, 2.0f), hn::Add(e, one)));
  return hn::IfThenElse(hn::Lt(t, hn::Set(d, 0.625f)), near, hn::CopySign(far, x));
}

// x clamped to -most .. most; NaN stays NaN.
template <class D, class V>
HWY_INLINE V vector_within(D d, V x, float most) {
  const V high = hn::Set(d, most), low = hn::Set(d, -most);
  return hn::IfThenElse(hn::Gt(x, high), high, hn::IfThenElse(hn::Lt(x, low), low, x));
}

// Phi(x) + x phi(x), the derivative of x Phi(x), with Phi(-t) as in vector_gelu_erf: error at most 2e-6.
template <class D, class V>
HWY_INLINE V vector_gelu_erf_derivative(D d, V any) {
  const V x = vector_within(d, any, 6.0f), t = hn::Abs(x), one = hn::Set(d, 1.0f);
  const V tail = vector_exp2(d, vector_log2_normal_tail(d, t));
  const V phi = hn::IfThenElse(hn::Lt(x, hn::Zero(d)), tail, hn::Sub(one, tail));
  const V density = hn::Mul(hn::Set(d, 0.398942280f), vector_exp(d, hn::Mul(hn::Mul(x, x), hn::Set(d, -0.5f))));
  return hn::MulAdd(x, density, phi);
}

// s + x s (1 - s) = s (1 + x (1 - s)) with s = 1 / (1 + e^-x).
template <class D, class V>
HWY_INLINE V vector_silu_derivative(D d, V any) {
  const V x = vector_within(d, any, 87.0f), one = hn::Set(d, 1.0f);
  const V s = hn::Div(one, hn::Add(one, vector_exp(d, hn::Neg(x)))), r = hn::Div(one, hn::Add(one, vector_exp(d, x)));
  return hn::Mul(s, hn::MulAdd(x, r, one));
}

// s + x s (1 - s) 2u' with s = 1 / (1 + e^-2u).
template <class D, class V>
HWY_INLINE V vector_gelu_tanh_derivative(D d, V any) {
  const V x = vector_within(d, any, 9.0f), one = hn::Set(d, 1.0f), squares = hn::Mul(x, x);
  const V factor = hn::Set(d, 2.0f * 0.797884561f);
  const V twice = hn::Mul(hn::Mul(x, hn::MulAdd(squares, hn::Set(d, 0.044715f), one)), factor);
  const V slope = hn::Mul(hn::MulAdd(squares, hn::Set(d, 3.0f * 0.044715f), one), factor);
  const V s = hn::Div(one, hn::Add(one, vector_exp(d, hn::Neg(twice))));
  const V r = hn::Div(one, hn::Add(one, vector_exp(d, twice)));
  return hn::Mul(s, hn::MulAdd(hn::Mul(x, slope), r, one));
}

// 1 - tanh^2 = 4e / (1 + e)^2 with e = e^-2|x|.
template <class D, class V>
HWY_INLINE V vector_tanh_derivative(D d, V x) {
  const V one = hn::Set(d, 1.0f), e = vector_exp(d, hn::Mul(hn::Abs(x), hn::Set(d, -2.0f))), below = hn::Add(one, e);
  return hn::Div(hn::Mul(hn::Set(d, 4.0f), e), hn::Mul(below, below));
}

// The activation as a type, so that vector loops are compiled for each.
template <Activation kKind>
struct Activate {
  template <class D, class V>
  HWY_INLINE V operator()(D d, V x) const {
    if constexpr (kKind == Activation::Relu) return hn::IfThenElse(hn::Lt(x, hn::Zero(d)), hn::Zero(d), x);
    if constexpr (kKind == Activation::GeluErf) return vector_gelu_erf(d, x);
    if constexpr (kKind == Activation::GeluTanh) return vector_gelu_tanh(d, x);
    if constexpr (kKind == Activation::Silu) return vector_silu(d, x);
    if constexpr (kKind == Activation::Tanh) return vector_tanh(d, x);
    return x;
  }
  template <class D, class V>
  HWY_INLINE V derivative(D d, V x) const {
    const V one = hn::Set(d, 1.0f), zero = hn::Zero(d);
    if constexpr (kKind == Activation::Relu)
      return hn::IfThenElse(hn::Gt(x, zero), one, hn::IfThenElse(hn::Le(x, zero), zero, x));
    if constexpr (kKind == Activation::GeluErf) return vector_gelu_erf_derivative(d, x);
    if constexpr (kKind == Activation::GeluTanh) return vector_gelu_tanh_derivative(d, x);
    if constexpr (kKind == Activation::Silu) return vector_silu_derivative(d, x);
    if constexpr (kKind == Activation::Tanh) return vector_tanh_derivative(d, x);
    return one;
  }
};

// Calls f(Activate<kind>()).
template <class F>
HWY_INLINE void with_activation(Activation kind, const F& f) {
  activation_as_type<Activate>(kind, f);
}

}  // namespace HWY_NAMESPACE
}  // namespace heed::cpu
HWY_AFTER_NAMESPACE();

#endif

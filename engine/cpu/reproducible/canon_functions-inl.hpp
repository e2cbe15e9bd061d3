// The arithmetic of elementwise functions in reproducible plans: tests/reproducible/README.md, shaders/shared/functions.glsl.
// Included once per instruction set (see Highway's foreach_target.h), by canon.cpp.
#if defined(HEED_CPU_CANON_FUNCTIONS_INL) == defined(HWY_TARGET_TOGGLE)
#ifdef HEED_CPU_CANON_FUNCTIONS_INL
#undef HEED_CPU_CANON_FUNCTIONS_INL
#else
#define HEED_CPU_CANON_FUNCTIONS_INL
#endif

#include "cpu/reproducible/canon-inl.hpp"
#include "cpu/simd/functions-inl.hpp"
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace heed::cpu {
namespace HWY_NAMESPACE {

struct CanonVectors {
  static HWY_INLINE Vector take(Vector x) { return canon::flushed(x); }
  static HWY_INLINE Vector give(Vector x) { return canon::canonical(x); }
  static HWY_INLINE Vector times(Vector a, Vector b) { return canon::times(a, b); }
  static HWY_INLINE Vector rounded_product(Vector a, Vector b) { return hn::Mul(a, b); }
  static HWY_INLINE Vector multiply_add(Vector a, Vector b, Vector c) { return canon::multiply_add(a, b, c); }
  static HWY_INLINE Vector small_quotient(Vector a, Vector b) { return canon::times(a, canon::reciprocal(b)); }

  // Divides mantissas between 1 and 2, with one correction by an exact remainder, and subtracts exponents.
  static HWY_INLINE Vector quotient(Vector a, Vector b) {
    using functions::infinity, functions::nan, functions::is_infinite, functions::whole, functions::as_floats;
    const functions::Wholes d;
    const Vector zero = hn::Zero(Floats());
    const auto x = whole(a), y = whole(b), digits = hn::Set(d, 0x7fffff), one = hn::Set(d, 0x3f800000);
    const Vector m = as_floats(hn::Or(hn::And(x, digits), one)), n = as_floats(hn::Or(hn::And(y, digits), one));
    const Vector inverse = canon::reciprocal(n);
    Vector q = hn::Mul(m, inverse);
    const Vector qh = canon::upper_part(q), ql = hn::Sub(q, qh), nh = canon::upper_part(n), nl = hn::Sub(n, nh);
    Vector rest = hn::Sub(m, hn::Mul(qh, nh));
    rest = hn::Sub(rest, hn::Mul(qh, nl));
    rest = hn::Sub(rest, hn::Mul(ql, nh));
    rest = hn::Sub(rest, hn::Mul(ql, nl));
    q = canon::multiply_add(rest, inverse, q);
    const auto of = [&](auto bits) HWY_ATTR { return hn::And(hn::ShiftRight<23>(bits), hn::Set(d, 255)); };
    const auto exponent = hn::Sub(hn::Add(of(whole(q)), of(x)), of(y));
    Vector y0 = as_floats(hn::Or(hn::And(whole(q), digits), hn::ShiftLeft<23>(exponent)));
    y0 = hn::IfThenElse(hn::RebindMask(Floats(), hn::Gt(exponent, hn::Set(d, 254))), infinity(), y0);
    y0 = canon::flushed(hn::IfThenZeroElse(hn::RebindMask(Floats(), hn::Lt(exponent, hn::Set(d, 1))), y0));
    const Vector sign = hn::And(hn::Xor(a, b), canon::of_bits(0x80000000u));
    const auto no_a = hn::Eq(a, zero), no_b = hn::Eq(b, zero), all_a = is_infinite(a), all_b = is_infinite(b);
    Vector result = hn::IfThenZeroElse(hn::Or(no_a, all_b), hn::Or(y0, sign));
    result = hn::IfThenElse(hn::Or(no_b, all_a), hn::Or(infinity(), sign), result);
    const auto undefined = hn::Or(hn::And(no_a, no_b), hn::And(all_a, all_b));
    return hn::IfThenElse(hn::Or(undefined, hn::Or(hn::IsNaN(a), hn::IsNaN(b))), nan(), result);
  }

  // x = m 4^k with m from 1 to 4.
  static HWY_INLINE Vector split_for_root(Vector x, functions::WholeVector* k) {
    const functions::Wholes d;
    *k = hn::ShiftRight<1>(hn::Sub(hn::ShiftRight<23>(functions::whole(x)), hn::Set(d, 127)));
    return functions::as_floats(hn::Sub(functions::whole(x), hn::ShiftLeft<24>(*k)));
  }
  static HWY_INLINE Vector times_power(Vector x, functions::WholeVector k) {
    return functions::as_floats(hn::Add(functions::whole(x), hn::ShiftLeft<23>(k)));
  }
  // `y` if x is positive and finite, otherwise the values for 0, infinity, or NaN.
  static HWY_INLINE Vector of_root(Vector x, Vector y, Vector at_0, Vector at_infinity) {
    Vector result = hn::IfThenElse(hn::Eq(x, hn::Zero(Floats())), at_0, y);
    result = hn::IfThenElse(hn::Lt(x, hn::Zero(Floats())), functions::nan(), result);
    return hn::IfThenElse(hn::Eq(x, functions::infinity()), at_infinity, result);
  }
  static HWY_INLINE Vector root(Vector x) {
    functions::WholeVector k;
    const Vector m = split_for_root(x, &k), y = canon::reciprocal_root(m), r = hn::Mul(m, y);
    const Vector rh = canon::upper_part(r), rl = hn::Sub(r, rh), cross = hn::Mul(rh, rl);
    Vector rest = hn::Sub(m, hn::Mul(rh, rh));
    rest = hn::Sub(hn::Sub(rest, hn::Add(cross, cross)), hn::Mul(rl, rl));
    const Vector better = canon::multiply_add(hn::Mul(rest, canon::set(0.5f)), y, r);
    return of_root(x, times_power(better, k), hn::Zero(Floats()), functions::infinity());
  }
  static HWY_INLINE Vector inverse_root(Vector x) {
    functions::WholeVector k;
    const Vector m = split_for_root(x, &k);
    const Vector y = times_power(canon::reciprocal_root(m), hn::Sub(hn::Zero(functions::Wholes()), k));
    return of_root(x, y, functions::infinity(), hn::Zero(Floats()));
  }

  static HWY_INLINE Vector exp_to_88(Vector x) { return canon::exp(x); }
  static HWY_INLINE Vector sigmoid(Vector x) {
    return hn::IfThenZeroElse(hn::Lt(x, canon::set(-87.0f)), canon::sigmoid(x));
  }
  template <Activation kKind>
  static HWY_INLINE Vector activate(Vector x) {
    return canon::Activate<kKind>()(x);
  }
  template <Activation kKind>
  static HWY_INLINE Vector derivative(Vector x) {
    return canon::Activate<kKind>().derivative(x);
  }
};

}  // namespace HWY_NAMESPACE
}  // namespace heed::cpu
HWY_AFTER_NAMESPACE();

#endif

// The elementwise functions of graph/functions.inc on vectors, the same as in shaders/shared/functions.glsl. M is the arithmetic: that of
// this file, or that of reproducible plans (cpu/reproducible/canon_functions-inl.hpp). Included once per instruction set (see Highway's
// foreach_target.h).
#if defined(HEED_CPU_FUNCTIONS_INL) == defined(HWY_TARGET_TOGGLE)
#ifdef HEED_CPU_FUNCTIONS_INL
#undef HEED_CPU_FUNCTIONS_INL
#else
#define HEED_CPU_FUNCTIONS_INL
#endif

#include <algorithm>
#include <bit>
#include <cstring>
#include <limits>

#include "cpu/simd/row_kernels.hpp"
#include "cpu/simd/vector_loops-inl.hpp"
#include "cpu/simd/vector_math-inl.hpp"
#include "graph/functions.hpp"
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace heed::cpu {
namespace HWY_NAMESPACE {
namespace functions {

using Wholes = hn::RebindToSigned<Floats>;
using WholeVector = hn::Vec<Wholes>;

HWY_INLINE Vector set(float x) { return hn::Set(Floats(), x); }
HWY_INLINE Vector infinity() { return set(std::numeric_limits<float>::infinity()); }
HWY_INLINE Vector nan() { return set(std::numeric_limits<float>::quiet_NaN()); }
HWY_INLINE auto bits_of(Vector x) { return hn::BitCast(hn::RebindToUnsigned<Floats>(), x); }
HWY_INLINE Vector upper(Vector x) {
  const hn::RebindToUnsigned<Floats> du;
  return hn::BitCast(Floats(), hn::And(bits_of(x), hn::Set(du, 0xfffff000u)));
}
HWY_INLINE WholeVector whole(Vector x) { return hn::BitCast(Wholes(), x); }
HWY_INLINE Vector as_floats(WholeVector x) { return hn::BitCast(Floats(), x); }
HWY_INLINE Vector power_of_two(WholeVector n) {
  return as_floats(hn::ShiftLeft<23>(hn::Add(n, hn::Set(Wholes(), 127))));
}
HWY_INLINE auto is_infinite(Vector x) { return hn::Eq(hn::Abs(x), infinity()); }
HWY_INLINE Vector within(Vector x, float low, float high) {
  const Vector bounded = hn::IfThenElse(hn::Lt(x, set(low)), set(low), x);
  return hn::IfThenElse(hn::Gt(x, set(high)), set(high), bounded);
}

struct Fast {
  static HWY_INLINE Vector take(Vector x) { return x; }
  static HWY_INLINE Vector give(Vector x) { return x; }
  static HWY_INLINE Vector times(Vector a, Vector b) { return hn::Mul(a, b); }
  static HWY_INLINE Vector multiply_add(Vector a, Vector b, Vector c) { return hn::MulAdd(a, b, c); }
  static HWY_INLINE Vector rounded_product(Vector a, Vector b) { return hn::Mul(a, b); }
  static HWY_INLINE Vector quotient(Vector a, Vector b) { return hn::Div(a, b); }
  static HWY_INLINE Vector small_quotient(Vector a, Vector b) { return hn::Div(a, b); }
  static HWY_INLINE Vector root(Vector x) { return hn::Sqrt(x); }
  static HWY_INLINE Vector inverse_root(Vector x) { return hn::Div(set(1.0f), hn::Sqrt(x)); }
  static HWY_INLINE Vector exp_to_88(Vector x) { return vector_exp(Floats(), x); }
  static HWY_INLINE Vector sigmoid(Vector x) {
    const Vector e = vector_exp(Floats(), hn::Neg(hn::Abs(x))), one = set(1.0f);
    return hn::Div(hn::IfThenElse(hn::Lt(x, hn::Zero(Floats())), e, one), hn::Add(one, e));
  }
  template <Activation kKind>
  static HWY_INLINE Vector activate(Vector x) {
    return Activate<kKind>()(Floats(), x);
  }
  template <Activation kKind>
  static HWY_INLINE Vector derivative(Vector x) {
    return Activate<kKind>().derivative(Floats(), x);
  }
};

template <class M>
struct Functions {
  static HWY_INLINE Vector series(Vector x, std::initializer_list<float> coefficients) {
    const float* c = coefficients.begin();
    Vector y = set(*c);
    while (++c != coefficients.end()) y = M::multiply_add(y, x, set(*c));
    return y;
  }

  // M's e^x is clamped at e^88.
  static HWY_INLINE Vector exp(Vector x) {
    const auto far = hn::Gt(hn::Abs(x), set(87.0f));
    const Vector e = M::exp_to_88(hn::IfThenElse(far, hn::Mul(x, set(0.5f)), x));
    return hn::IfThenElse(far, M::times(e, e), e);
  }

  // x = 2^n (1 + f), with 1 + f between sqrt(1/2) and sqrt(2).
  static HWY_INLINE void split_for_log(Vector x, Vector* n, Vector* f) {
    const WholeVector least = hn::Set(Wholes(), 0x3f3504f3), bits = hn::Sub(whole(x), least);
    *n = hn::ConvertTo(Floats(), hn::ShiftRight<23>(bits));
    *f = hn::Sub(as_floats(hn::Add(hn::And(bits, hn::Set(Wholes(), 0x007fffff)), least)), set(1.0f));
  }
  static HWY_INLINE Vector log_series(Vector f) {
    const Vector y = series(f, {7.03768363e-2f, -1.15146103e-1f, 1.16769987e-1f, -1.24201408e-1f, 1.42493229e-1f,
                                -1.66680578e-1f, 2.00007148e-1f, -2.49999940e-1f, 3.33333312e-1f});
    return hn::Mul(hn::Mul(y, f), hn::Mul(f, f));
  }
  static HWY_INLINE Vector log_of_positive(Vector x) {
    Vector n, f;
    split_for_log(x, &n, &f);
    Vector y = hn::Add(log_series(f), hn::Mul(n, set(-2.12194440e-4f)));
    y = hn::Add(f, hn::Add(y, hn::Mul(hn::Mul(f, f), set(-0.5f))));
    return hn::Add(y, hn::Mul(n, set(0.693359375f)));
  }
  static HWY_INLINE Vector log(Vector x) {
    Vector y = log_of_positive(x);
    y = hn::IfThenElse(hn::Eq(x, infinity()), x, y);
    y = hn::IfThenElse(hn::Lt(hn::Abs(x), set(0x1p-126f)), hn::Neg(infinity()), y);
    return hn::IfThenElse(hn::Le(x, set(-0x1p-126f)), nan(), y);
  }

  static HWY_INLINE Vector softplus(Vector x) {
    const Vector one = set(1.0f), zero = hn::Zero(Floats());
    const Vector e = M::exp_to_88(hn::Neg(hn::Abs(x))), sum = hn::Add(one, e), kept = hn::Sub(sum, one);
    const auto lost = hn::Eq(kept, zero);
    const Vector rest = M::times(log_of_positive(sum), M::small_quotient(e, hn::IfThenElse(lost, one, kept)));
    return M::give(hn::Add(hn::IfThenElse(hn::Lt(x, zero), zero, x), hn::IfThenElse(lost, e, rest)));
  }

  // 1 - e^x for x <= 0.
  static HWY_INLINE Vector one_less_power(Vector x) {
    const Vector y = series(x, {2.75573192e-6f, 2.48015873e-5f, 1.98412698e-4f, 1.38888889e-3f, 8.33333333e-3f,
                                4.16666667e-2f, 1.66666667e-1f, 0.5f, 1.0f});
    return hn::IfThenElse(hn::Lt(x, set(-0.5f)), hn::Sub(set(1.0f), M::exp_to_88(x)), M::times(hn::Neg(x), y));
  }
  static HWY_INLINE Vector elu(Vector x, Vector alpha) {
    const Vector below = M::times(hn::Neg(one_less_power(x)), alpha);
    return hn::IfThenElse(hn::Le(x, hn::Zero(Floats())), below, x);
  }

  static HWY_INLINE Vector erf(Vector x) {
    const Vector any = hn::Abs(x), t = hn::IfThenElse(hn::Gt(any, set(4.0f)), set(4.0f), any), s = M::times(x, x);
    const Vector p =
        series(s, {-6.09100505e-4f, 5.01210708e-3f, -2.67790258e-2f, 1.12821452e-1f, -3.76125246e-1f, 1.28379151e-1f});
    const Vector near = hn::Add(M::times(p, x), x);
    const Vector q = series(t, {-2.00197901e-5f, 4.22199781e-4f, -4.11254866e-3f, 2.49679293e-2f, -1.08050108e-1f,
                                -6.33551717e-1f, -1.12941575f, 1.54524692e-4f});
    const Vector far = hn::Sub(set(1.0f), M::exp_to_88(q));
    return hn::IfThenElse(hn::Lt(t, set(0.87f)), near,
                          hn::IfThenElse(hn::Lt(x, hn::Zero(Floats())), hn::Neg(far), far));
  }

  static HWY_INLINE Vector turned_sine(Vector x, int32_t quarters) {
    const Vector bounded = within(x, -1.0e7f, 1.0e7f);
    const Vector n = hn::Floor(hn::Add(hn::Mul(bounded, set(0.636619747f)), set(0.5f)));
    const Vector high = upper(n), low = hn::Sub(n, high);
    const Vector first = set(1.5703125f), second = set(4.825592041015625e-4f);
    Vector r = hn::Sub(hn::Sub(bounded, hn::Mul(high, first)), hn::Mul(low, first));
    r = hn::Sub(hn::Sub(r, hn::Mul(high, second)), hn::Mul(low, second));
    r = within(hn::Sub(r, hn::Mul(n, set(1.26759085e-6f))), -1.0f, 1.0f);
    const Vector z = M::times(r, r);
    Vector s = M::multiply_add(z, set(-1.95172979e-4f), set(8.332178e-3f));
    s = M::multiply_add(z, s, set(-1.66666552e-1f));
    s = hn::Add(M::times(M::times(r, z), s), r);
    Vector c = M::multiply_add(z, set(2.44384501e-5f), set(-1.38873677e-3f));
    c = M::multiply_add(z, c, set(4.16666456e-2f));
    c = M::multiply_add(M::times(z, z), c, hn::Sub(set(1.0f), hn::Mul(set(0.5f), z)));
    const WholeVector turn =
        hn::Add(hn::ConvertTo(Wholes(), hn::IfThenZeroElse(hn::IsNaN(n), n)), hn::Set(Wholes(), quarters));
    const WholeVector zero = hn::Zero(Wholes());
    const auto takes_cosine = hn::Ne(hn::And(turn, hn::Set(Wholes(), 1)), zero);
    const auto is_negative = hn::Ne(hn::And(turn, hn::Set(Wholes(), 2)), zero);
    const Vector y = hn::IfThenElse(hn::RebindMask(Floats(), takes_cosine), c, s);
    const Vector result = hn::IfThenElse(hn::RebindMask(Floats(), is_negative), hn::Neg(y), y);
    return hn::IfThenElse(is_infinite(x), nan(), result);
  }

  static HWY_INLINE Vector modulo(Vector a, Vector b) {
    const Vector zero = hn::Zero(Floats()), q = hn::Floor(M::quotient(a, b));
    const Vector qh = upper(q), ql = hn::Sub(q, qh), bh = upper(b), bl = hn::Sub(b, bh);
    Vector r = hn::Sub(a, M::times(qh, bh));
    r = hn::Sub(r, M::times(qh, bl));
    r = hn::Sub(r, M::times(ql, bh));
    r = M::take(hn::Sub(r, M::times(ql, bl)));
    const auto positive = hn::Gt(b, zero), whole_part = hn::Ge(hn::Abs(a), hn::Abs(b));
    const Vector up = hn::IfThenElse(hn::Lt(r, zero), hn::Add(r, b),
                                     hn::IfThenElse(hn::And(whole_part, hn::Ge(r, b)), hn::Sub(r, b), r));
    const Vector down = hn::IfThenElse(hn::Gt(r, zero), hn::Add(r, b),
                                       hn::IfThenElse(hn::And(whole_part, hn::Le(r, b)), hn::Sub(r, b), r));
    Vector y = M::take(hn::IfThenElse(positive, up, down));
    const auto negative_a = hn::Lt(a, zero), negative_b = hn::Lt(b, zero);
    const auto keeps = hn::Or(hn::Eq(a, zero), hn::Not(hn::Xor(negative_a, negative_b)));
    y = hn::IfThenElse(is_infinite(b), hn::IfThenElse(keeps, a, b), y);
    return hn::IfThenElse(hn::Or(hn::Or(hn::IsNaN(a), is_infinite(a)), hn::Eq(b, zero)), nan(), y);
  }

  static HWY_INLINE Vector positive_power(Vector a, Vector b) {
    Vector n, f;
    split_for_log(a, &n, &f);
    const Vector l = hn::Add(f, hn::Add(log_series(f), hn::Mul(hn::Mul(f, f), set(-0.5f))));
    const Vector bounded = within(b, -1.0e10f, 1.0e10f), bh = upper(bounded), bl = hn::Sub(bounded, bh);
    const Vector p = M::rounded_product(bounded, n);
    const Vector lost = hn::Add(hn::Sub(hn::Mul(bh, n), p), hn::Mul(bl, n));
    const Vector q = M::times(bounded, M::times(l, set(1.44269504f)));
    const Vector k = hn::Floor(hn::Add(within(hn::Add(p, q), -250.0f, 250.0f), set(0.5f)));
    const Vector rest = within(hn::Add(hn::Add(hn::Sub(p, k), q), lost), -1.0f, 1.0f);
    const WholeVector all = hn::ConvertTo(Wholes(), hn::IfThenZeroElse(hn::IsNaN(k), k)), half = hn::ShiftRight<1>(all);
    const Vector y = hn::Mul(M::exp_to_88(hn::Mul(rest, set(0.693147181f))), power_of_two(half));
    return M::times(y, power_of_two(hn::Sub(all, half)));
  }
  static HWY_INLINE Vector pow(Vector a, Vector b) {
    const Vector zero = hn::Zero(Floats()), one = set(1.0f), m = hn::Abs(a);
    const auto large = is_infinite(m), tiny = hn::Lt(m, set(0x1p-126f)), below = hn::Lt(b, zero);
    const auto is_whole = hn::Eq(hn::Floor(b), b);
    const Vector small_b = hn::IfThenElseZero(hn::Lt(hn::Abs(b), set(16777216.0f)), b);
    const WholeVector digits = hn::And(hn::ConvertTo(Wholes(), small_b), hn::Set(Wholes(), 1));
    const auto odd = hn::And(is_whole, hn::RebindMask(Floats(), hn::Ne(digits, hn::Zero(Wholes()))));
    Vector y = positive_power(m, b);
    const Vector far = hn::IfThenElse(hn::Xor(hn::Gt(m, one), below), infinity(), zero);
    y = hn::IfThenElse(is_infinite(b), hn::IfThenElse(hn::Eq(m, one), one, far), y);
    y = hn::IfThenElse(large, hn::IfThenElse(below, zero, infinity()), y);
    y = hn::IfThenElse(tiny, hn::IfThenElse(below, infinity(), zero), y);
    const auto negative = hn::And(odd, hn::Lt(hn::CopySign(one, a), zero));
    y = hn::IfThenElse(negative, hn::Neg(y), y);
    const auto undefined = hn::And(hn::Lt(a, zero), hn::Not(hn::Or(is_whole, large)));
    y = hn::IfThenElse(hn::Or(undefined, hn::Or(hn::IsNaN(a), hn::IsNaN(b))), nan(), y);
    return hn::IfThenElse(hn::Or(hn::Eq(b, zero), hn::Eq(a, one)), one, y);
  }

  static HWY_INLINE Vector smaller(Vector a, Vector b) {
    return hn::IfThenElse(hn::Or(hn::IsNaN(a), hn::Lt(a, b)), a, b);
  }
  static HWY_INLINE Vector larger(Vector a, Vector b) {
    return hn::IfThenElse(hn::Or(hn::IsNaN(a), hn::Gt(a, b)), a, b);
  }
  static HWY_INLINE Vector sign(Vector x) {
    const Vector zero = hn::Zero(Floats()), one = set(1.0f);
    const Vector y = hn::IfThenElseZero(hn::Gt(x, zero), one);
    return hn::IfThenElse(hn::Lt(x, zero), hn::Neg(one), y);
  }

  // Truncates towards zero; 0 for NaN.
  static HWY_INLINE Vector to_whole(Vector x, float low, float high) {
    const Vector bounded = within(hn::IfThenZeroElse(hn::IsNaN(x), x), low, high);
    return as_floats(hn::ConvertTo(Wholes(), bounded));
  }
};

// A vector of integers: 1 where the mask is true, and 0 elsewhere.
template <class Mask>
HWY_INLINE Vector truth(Mask mask) {
  return hn::IfThenElseZero(mask, as_floats(hn::Set(Wholes(), 1)));
}

// Operands and result of a function in two parts: whole vectors in place, then the rest, padded. One loop processes both, so that a
// function's code is compiled once.
class Parts {
 public:
  Parts(const FunctionOperand* x, float* out, int64_t n) : to(out), size(n / lanes() * lanes()), end_(out + n) {
    for (int k = 0; k < 3; ++k) {
      if (x[k].scalar) hn::Store(hn::Set(Floats(), *x[k].data), Floats(), pads_[k]);
      data[k] = x[k].scalar ? pads_[k] : x[k].data;
      places[k] = x[k].scalar ? 0 : -1;
    }
  }

  // Returns true once, if there is a rest. The next call stores the rest's result.
  HWY_NOINLINE bool take_rest() {
    if (rest_ != nullptr) {
      std::copy(pads_[3], pads_[3] + (end_ - rest_), rest_);
      return false;
    }
    rest_ = to + size;
    if (rest_ == end_) return false;
    for (int k = 0; k < 3; ++k) {
      if (places[k] == 0) continue;
      hn::Store(load_some(data[k] + size, end_ - rest_, 0.0f), Floats(), pads_[k]);
      data[k] = pads_[k];
    }
    to = pads_[3];
    size = lanes();
    return true;
  }

  const float* data[3];
  int64_t places[3];  // index of the operand in the buffer; 0 for a scalar, whose vector serves all elements; else -1
  float* to;
  int64_t size;

 private:
  HWY_ALIGN float pads_[4][hn::MaxLanes(Floats())];
  float *end_, *rest_ = nullptr;
};

// Calls f on vectors of the operands.
template <class F>
HWY_INLINE void walk(const FunctionOperand* x, float* out, int64_t n, const F& f) {
  const Floats d;
  Parts parts(x, out, n);
  do {
    const float *const a = parts.data[0], *const b = parts.data[1], *const c = parts.data[2];
    const int64_t of_a = parts.places[0], of_b = parts.places[1], of_c = parts.places[2];
    float* const to = parts.to;
    for (int64_t i = 0; i < parts.size; i += lanes())
      hn::StoreU(f(hn::LoadU(d, a + (i & of_a)), hn::LoadU(d, b + (i & of_b)), hn::LoadU(d, c + (i & of_c))), d,
                 to + i);
  } while (parts.take_rest());
}

// Floating-point operands.
template <class M>
void apply_to_floats(Function function, const FunctionOperand* x, float* out, int64_t n) {
  using F = Functions<M>;
  const auto unary = [&](const auto& f) HWY_ATTR {
    walk(x, out, n, [&](Vector a, Vector, Vector) HWY_ATTR {
      const Vector v = M::take(a);
      return M::give(hn::IfThenElse(hn::IsNaN(v), v, f(v)));
    });
  };
  const auto binary = [&](const auto& f) HWY_ATTR {
    walk(x, out, n, [&](Vector a, Vector b, Vector) HWY_ATTR { return M::give(f(M::take(a), M::take(b))); });
  };
  const auto compare = [&](const auto& f) HWY_ATTR {
    walk(x, out, n, [&](Vector a, Vector b, Vector) HWY_ATTR { return truth(f(M::take(a), M::take(b))); });
  };
  switch (function) {
    case Function::Add: return binary([](Vector a, Vector b) HWY_ATTR { return hn::Add(a, b); });
    case Function::Sub: return binary([](Vector a, Vector b) HWY_ATTR { return hn::Sub(a, b); });
    case Function::Mul: return binary([](Vector a, Vector b) HWY_ATTR { return hn::Mul(a, b); });
    case Function::Div: return binary([](Vector a, Vector b) HWY_ATTR { return M::quotient(a, b); });
    case Function::Mod: return binary([](Vector a, Vector b) HWY_ATTR { return F::modulo(a, b); });
    case Function::Min: return binary([](Vector a, Vector b) HWY_ATTR { return F::smaller(a, b); });
    case Function::Max: return binary([](Vector a, Vector b) HWY_ATTR { return F::larger(a, b); });
    case Function::Pow: return binary([](Vector a, Vector b) HWY_ATTR { return F::pow(a, b); });
    case Function::Neg: return unary([](Vector v) HWY_ATTR { return hn::Neg(v); });
    case Function::Abs: return unary([](Vector v) HWY_ATTR { return hn::Abs(v); });
    case Function::Sign: return unary([](Vector v) HWY_ATTR { return F::sign(v); });
    case Function::Reciprocal: return unary([](Vector v) HWY_ATTR { return M::quotient(set(1.0f), v); });
    case Function::Sqrt: return unary([](Vector v) HWY_ATTR { return M::root(v); });
    case Function::Rsqrt: return unary([](Vector v) HWY_ATTR { return M::inverse_root(v); });
    case Function::Exp: return unary([](Vector v) HWY_ATTR { return F::exp(v); });
    case Function::Log: return unary([](Vector v) HWY_ATTR { return F::log(v); });
    case Function::Sin: return unary([](Vector v) HWY_ATTR { return F::turned_sine(v, 0); });
    case Function::Cos: return unary([](Vector v) HWY_ATTR { return F::turned_sine(v, 1); });
    case Function::Erf: return unary([](Vector v) HWY_ATTR { return F::erf(v); });
    case Function::Sigmoid: return unary([](Vector v) HWY_ATTR { return M::sigmoid(v); });
    case Function::Softplus: return unary([](Vector v) HWY_ATTR { return F::softplus(v); });
    case Function::Elu: return binary([](Vector a, Vector b) HWY_ATTR { return F::elu(a, b); });
    case Function::Floor: return unary([](Vector v) HWY_ATTR { return hn::Floor(v); });
    case Function::Round: return unary([](Vector v) HWY_ATTR { return hn::Round(v); });
#define HEED_ACTIVATION(kind)                                                                                     \
  case Function::kind: return unary([](Vector v) HWY_ATTR { return M::template activate<Activation::kind>(v); }); \
  case Function::kind##Backward:                                                                                  \
    return binary([](Vector a, Vector b) HWY_ATTR { return hn::Mul(a, M::template derivative<Activation::kind>(b)); });
      HEED_ACTIVATION(Relu)
      HEED_ACTIVATION(GeluErf)
      HEED_ACTIVATION(GeluTanh)
      HEED_ACTIVATION(Silu)
      HEED_ACTIVATION(Tanh)
#undef HEED_ACTIVATION
    case Function::Eq: return compare([](Vector a, Vector b) HWY_ATTR { return hn::Eq(a, b); });
    case Function::Ne: return compare([](Vector a, Vector b) HWY_ATTR { return hn::Not(hn::Eq(a, b)); });
    case Function::Lt: return compare([](Vector a, Vector b) HWY_ATTR { return hn::Lt(a, b); });
    case Function::Le: return compare([](Vector a, Vector b) HWY_ATTR { return hn::Le(a, b); });
    case Function::Gt: return compare([](Vector a, Vector b) HWY_ATTR { return hn::Gt(a, b); });
    case Function::Ge: return compare([](Vector a, Vector b) HWY_ATTR { return hn::Ge(a, b); });
    case Function::Where:
      return walk(x, out, n, [](Vector m, Vector a, Vector b) HWY_ATTR {
        const auto chosen = hn::RebindMask(Floats(), hn::Ne(whole(m), hn::Zero(Wholes())));
        return M::give(hn::IfThenElse(chosen, a, b));
      });
    case Function::ToWhole:
      return walk(x, out, n, [](Vector a, Vector, Vector) HWY_ATTR {
        const Vector most = as_floats(hn::Set(Wholes(), 0x7fffffff));
        return hn::IfThenElse(hn::Ge(a, set(0x1p31f)), most, F::to_whole(a, -0x1p31f, 2147483520.0f));
      });
    case Function::ToByte:
      return walk(x, out, n, [](Vector a, Vector, Vector) HWY_ATTR { return F::to_whole(a, 0.0f, 255.0f); });
    default: return unary([](Vector v) HWY_ATTR { return v; });
  }
}

// Integer functions without vector code.
inline int32_t quotient_of(int32_t a, int32_t b) {
  return b == 0 ? 0 : b == -1 ? static_cast<int32_t>(0u - static_cast<uint32_t>(a)) : a / b;
}
inline int32_t remainder_of(int32_t a, int32_t b) {
  const int32_t r = b == 0 || b == -1 ? 0 : a % b;
  return r != 0 && (r < 0) != (b < 0) ? r + b : r;
}
template <class F>
void walk_alone(const FunctionOperand* x, float* out, int64_t n, const F& f) {
  for (int64_t i = 0; i < n; ++i) {
    const int32_t a = std::bit_cast<int32_t>(x[0].data[x[0].scalar ? 0 : i]);
    out[i] = std::bit_cast<float>(f(a, std::bit_cast<int32_t>(x[1].data[x[1].scalar ? 0 : i])));
  }
}

// Operands of I32, and of U8 widened to I32.
inline void apply_to_whole(Function function, const FunctionOperand* x, float* out, int64_t n) {
  const auto each = [&](const auto& f) HWY_ATTR {
    walk(x, out, n, [&](Vector a, Vector b, Vector) HWY_ATTR { return as_floats(f(whole(a), whole(b))); });
  };
  const auto compare = [&](const auto& f) HWY_ATTR {
    walk(x, out, n,
         [&](Vector a, Vector b, Vector) HWY_ATTR { return truth(hn::RebindMask(Floats(), f(whole(a), whole(b)))); });
  };
  using W = WholeVector;
  const Wholes d;
  const W zero = hn::Zero(d);
  switch (function) {
    case Function::Add: return each([](W a, W b) HWY_ATTR { return hn::Add(a, b); });
    case Function::Sub: return each([](W a, W b) HWY_ATTR { return hn::Sub(a, b); });
    case Function::Mul: return each([](W a, W b) HWY_ATTR { return hn::Mul(a, b); });
    case Function::Min: return each([](W a, W b) HWY_ATTR { return hn::Min(a, b); });
    case Function::Max: return each([](W a, W b) HWY_ATTR { return hn::Max(a, b); });
    case Function::Neg: return each([&](W a, W) HWY_ATTR { return hn::Sub(zero, a); });
    case Function::Abs: return each([&](W a, W) HWY_ATTR { return hn::Max(a, hn::Sub(zero, a)); });
    case Function::Sign:
      return each([&](W a, W) HWY_ATTR { return hn::Max(hn::Min(a, hn::Set(d, 1)), hn::Set(d, -1)); });
    case Function::Div: return walk_alone(x, out, n, quotient_of);
    case Function::Mod: return walk_alone(x, out, n, remainder_of);
    case Function::Eq: return compare([](W a, W b) HWY_ATTR { return hn::Eq(a, b); });
    case Function::Ne: return compare([](W a, W b) HWY_ATTR { return hn::Ne(a, b); });
    case Function::Lt: return compare([](W a, W b) HWY_ATTR { return hn::Lt(a, b); });
    case Function::Le: return compare([](W a, W b) HWY_ATTR { return hn::Not(hn::Gt(a, b)); });
    case Function::Gt: return compare([](W a, W b) HWY_ATTR { return hn::Gt(a, b); });
    case Function::Ge: return compare([](W a, W b) HWY_ATTR { return hn::Not(hn::Lt(a, b)); });
    case Function::And: return compare([&](W a, W b) HWY_ATTR { return hn::And(hn::Ne(a, zero), hn::Ne(b, zero)); });
    case Function::Or: return compare([&](W a, W b) HWY_ATTR { return hn::Ne(hn::Or(a, b), zero); });
    case Function::Not: return compare([&](W a, W) HWY_ATTR { return hn::Eq(a, zero); });
    case Function::Where:
      return walk(x, out, n, [&](Vector m, Vector a, Vector b) HWY_ATTR {
        return hn::IfThenElse(hn::RebindMask(Floats(), hn::Ne(whole(m), zero)), a, b);
      });
    case Function::ToFloat:
      return walk(x, out, n, [&](Vector a, Vector, Vector) HWY_ATTR { return hn::ConvertTo(Floats(), whole(a)); });
    case Function::ToByte: return each([&](W a, W) HWY_ATTR { return hn::And(a, hn::Set(d, 255)); });
    default: return each([](W a, W) HWY_ATTR { return a; });
  }
}

template <class M>
void apply(Function function, Domain domain, const FunctionOperand* x, float* out, int64_t n) {
  if (domain == Domain::Float)
    apply_to_floats<M>(function, x, out, n);
  else
    apply_to_whole(function, x, out, n);
}

}  // namespace functions
}  // namespace HWY_NAMESPACE
}  // namespace heed::cpu
HWY_AFTER_NAMESPACE();

#endif

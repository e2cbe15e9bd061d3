#include "cpu/simd/row_kernels.hpp"

#include <cmath>
#include <limits>

#include "base/half.hpp"
#include "cpu/simd/kernels.hpp"
#include "cpu/simd/targets.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "cpu/simd/row_kernels.cpp"
#include "hwy/foreach_target.h"  // IWYU pragma: keep
//
#include "cpu/simd/dispatch.hpp"
#include "cpu/simd/functions-inl.hpp"
#include "cpu/simd/philox-inl.hpp"
#include "cpu/simd/vector_loops-inl.hpp"
#include "cpu/simd/vector_math-inl.hpp"
#include "hwy/cache_control.h"
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace heed::cpu {
namespace HWY_NAMESPACE {
namespace {

void activate(Activation kind, const float* x, float* out, int64_t n) {
  with_activation(kind, [&](const auto& f) { map(x, out, n, [&](Vector v) { return f(Floats(), v); }); });
}

void activate_backward(Activation kind, const float* g, const float* x, float* out, int64_t n) {
  with_activation(kind, [&](const auto& f) {
    map(g, x, out, n, [&](Vector a, Vector b) { return hn::Mul(a, f.derivative(Floats(), b)); });
  });
}

void add(const float* a, const float* b, float* out, int64_t n) {
  map(a, b, out, n, [](Vector x, Vector y) { return hn::Add(x, y); });
}
void multiply(const float* a, const float* b, float* out, int64_t n) {
  map(a, b, out, n, [](Vector x, Vector y) { return hn::Mul(x, y); });
}
void scale(const float* x, float factor, float* out, int64_t n) {
  const Vector by = hn::Set(Floats(), factor);
  map(x, out, n, [&](Vector v) { return hn::Mul(v, by); });
}

// The largest of n elements: load(i) gives whole vectors, last(i) the remaining elements. NaN are ignored.
template <class Load, class Last>
HWY_INLINE float largest_of(int64_t n, const Load& load, const Last& last) {
  const auto larger = [](Vector a, Vector b) { return hn::IfThenElse(hn::Gt(a, b), a, b); };
  Vector m0 = hn::Set(Floats(), -std::numeric_limits<float>::infinity()), m1 = m0;
  int64_t i = 0;
  for (; i + 2 * lanes() <= n; i += 2 * lanes()) {
    m0 = larger(load(i), m0);
    m1 = larger(load(i + lanes()), m1);
  }
  for (; i + lanes() <= n; i += lanes()) m0 = larger(load(i), m0);
  if (i < n) m1 = larger(last(i), m1);
  return hn::GetLane(hn::MaxOfLanes(Floats(), larger(m0, m1)));
}

// The largest element; -infinity if all elements are -infinity or NaN.
float largest(const float* x, int64_t n) {
  return largest_of(
      n, [&](int64_t i) { return hn::LoadU(Floats(), x + i); },
      [&](int64_t i) { return load_some(x + i, n - i, x[i]); });
}

// Writes scale x to out and returns its largest element.
float largest_scaled(const float* x, float scale, float* out, int64_t n) {
  const Floats d;
  const Vector by = hn::Set(d, scale);
  const auto load = [&](int64_t i) {
    const Vector v = hn::Mul(hn::LoadU(d, x + i), by);
    hn::StoreU(v, d, out + i);
    return v;
  };
  return largest_of(n, load, [&](int64_t i) {
    const Vector v = hn::Mul(load_some(x + i, n - i, x[i]), by);
    store_some(v, out + i, n - i);
    return v;
  });
}

// out[i] = e^(x[i] - largest); returns their sum.
template <bool kPrefetches>
double powers(const float* x, float largest, float* out, int64_t n, const float* next) {
  const Floats d;
  const Vector largest_x = hn::Set(d, largest);
  const auto power = [&](Vector v) { return vector_exp_to_88(d, hn::Sub(v, largest_x)); };
  return sum_of(
      n,
      [&](Vector sums, int64_t i) {
        if constexpr (kPrefetches) hwy::Prefetch(next + i);
        const Vector e = power(hn::LoadU(d, x + i));
        hn::StoreU(e, d, out + i);
        return hn::Add(sums, e);
      },
      [&](Vector sums, int64_t i) {
        const Vector e = power(load_some(x + i, n - i, -std::numeric_limits<float>::infinity()));
        store_some(e, out + i, n - i);
        return hn::Add(sums, e);
      });
}

double powers_of(const float* x, float largest, float* out, int64_t n) {
  return powers<false>(x, largest, out, n, nullptr);
}

void softmax(const float* x, float factor, float* out, int64_t n, const float* next) {
  const Floats d;
  const bool scaled = factor != 1.0f;
  const float max = scaled ? largest_scaled(x, factor, out, n) : largest(x, n);
  const float* logits = scaled ? out : x;
  constexpr float kHidden = -std::numeric_limits<float>::infinity();
  // Without a visible key e^(x - max) is undefined: all weights are 0, or NaN if a logit is NaN.
  if (max == kHidden) {
    bool hidden = true;
    for (int64_t i = 0; i < n; ++i) hidden = hidden && logits[i] == kHidden;
    const Vector weight = hidden ? hn::Zero(d) : hn::Set(d, std::numeric_limits<float>::quiet_NaN());
    return map(logits, out, n, [&](Vector) { return weight; });
  }
  const double total =
      next != nullptr ? powers<true>(logits, max, out, n, next) : powers<false>(logits, max, out, n, next);
  scale(out, static_cast<float>(1.0 / total), out, n);
}

// The row x, or x + residual, which is written to out.
const float* sum_with_residual(const NormRow& row, float* out, int64_t n) {
  if (row.residual == nullptr) return row.x;
  add(row.x, row.residual, out, n);
  return out;
}

// Sums x by add_to(sums, vector); lanes past the row are `neutral`.
template <class F>
HWY_INLINE double sum_over(const float* x, int64_t n, float neutral, const F& add_to) {
  const Floats d;
  return sum_of(
      n, [&](Vector sums, int64_t i) { return add_to(sums, hn::LoadU(d, x + i)); },
      [&](Vector sums, int64_t i) { return add_to(sums, load_some(x + i, n - i, neutral)); });
}

// Squares of values above 1e19 or below 1e-19 overflow or underflow f32. A sum within these bounds has lost no digits to that.
bool in_range(double squares) { return squares > 1e-28 && squares < 1e37; }

// out = ((v - high) - low) * factor * gamma + beta.
void apply_norm(const NormRow& row, const float* v, float high, float low, float factor, float* out, int64_t n) {
  const Floats d;
  const Vector a = hn::Set(d, high), b = hn::Set(d, low), by = hn::Set(d, factor);
  const auto core = [&](Vector x) { return hn::Mul(hn::Sub(hn::Sub(x, a), b), by); };
  if (row.gamma == nullptr) {
    map(v, out, n, core);
    if (row.beta != nullptr) add(out, row.beta, out, n);
    return;
  }
  if (row.beta == nullptr) return map(v, row.gamma, out, n, [&](Vector x, Vector g) { return hn::Mul(core(x), g); });
  int64_t i = 0;
  for (; i + lanes() <= n; i += lanes())
    hn::StoreU(hn::MulAdd(core(hn::LoadU(d, v + i)), hn::LoadU(d, row.gamma + i), hn::LoadU(d, row.beta + i)), d,
               out + i);
  if (i == n) return;
  const Vector g = load_some(row.gamma + i, n - i, 0.0f), c = load_some(row.beta + i, n - i, 0.0f);
  store_some(hn::MulAdd(core(load_some(v + i, n - i, 0.0f)), g, c), out + i, n - i);
}

// A row between the loops of layernorm. The mean is stored as a float, `high`, and its rounding error, `low`: near 10,000 a single float
// may be off by half a thousandth, for rows whose deviation is 1.
struct NormState {
  const float* v = nullptr;
  double mean = 0.0;
  float high = 0.0f, low = 0.0f, factor = 0.0f;
};

// Sums differences from the row's first element, which is within sqrt(n) deviations of the mean, so that a mean far from zero costs no
// digits.
void find_mean(const NormRow& row, float* out, int64_t n, NormState* state) {
  const float* v = sum_with_residual(row, out, n);
  const float start = v[0];
  const Vector first = hn::Set(Floats(), start);
  const double sum = sum_over(v, n, start, [&](Vector sums, Vector x) { return hn::Add(sums, hn::Sub(x, first)); });
  state->v = v;
  state->mean = static_cast<double>(start) + sum / static_cast<double>(n);
  state->high = static_cast<float>(state->mean);
  state->low = static_cast<float>(state->mean - static_cast<double>(state->high));
}

void find_factor(float eps, int64_t n, NormState* state) {
  const Floats d;
  const Vector a = hn::Set(d, state->high), b = hn::Set(d, state->low);
  const auto square_to = [&](Vector sums, Vector x) {
    const Vector deviation = hn::Sub(hn::Sub(x, a), b);
    return hn::MulAdd(deviation, deviation, sums);
  };
  const auto add_squares = [&](int64_t from, double* squares) {
    for (int64_t i = from; i < n; ++i) {
      const double deviation = static_cast<double>(state->v[i]) - state->mean;
      *squares += deviation * deviation;
    }
  };
  const int64_t whole = n / lanes() * lanes();
  double squares = sum_over(state->v, whole, 0.0f, square_to);
  add_squares(whole, &squares);
  if (!in_range(squares)) {
    squares = 0.0;
    add_squares(0, &squares);
  }
  state->factor = static_cast<float>(1.0 / std::sqrt(squares / static_cast<double>(n) + static_cast<double>(eps)));
}

// Loops over the rows for the means, then for the deviations, then for the results. Each loop processes all rows, so that the end of one
// row's sum, a chain of dependent operations, overlaps the next row's sum.
void layernorm(const NormRow* rows, float* const* outs, int64_t count, int64_t n) {
  NormState states[RowKernels::kNormRows];
  for (int64_t r = 0; r < count; ++r) find_mean(rows[r], outs[r], n, &states[r]);
  for (int64_t r = 0; r < count; ++r) {
    constexpr int64_t kLine = 64 / sizeof(float);
    for (int64_t i = 0; rows[r].next != nullptr && i < n; i += kLine) hwy::Prefetch(rows[r].next + i);
    find_factor(rows[r].eps, n, &states[r]);
  }
  for (int64_t r = 0; r < count; ++r)
    apply_norm(rows[r], states[r].v, states[r].high, states[r].low, states[r].factor, outs[r], n);
}

void rmsnorm(const NormRow& row, float* out, int64_t n) {
  const float* v = sum_with_residual(row, out, n);
  double squares = sum_over(v, n, 0.0f, [](Vector sums, Vector x) { return hn::MulAdd(x, x, sums); });
  if (!in_range(squares)) {
    squares = 0.0;
    for (int64_t i = 0; i < n; ++i) squares += static_cast<double>(v[i]) * static_cast<double>(v[i]);
  }
  const double mean = squares / static_cast<double>(n);
  apply_norm(row, v, 0.0f, 0.0f, static_cast<float>(1.0 / std::sqrt(mean + static_cast<double>(row.eps))), out, n);
}

void softmax_backward(const float* p, const float* g, const float* visible, float factor, float* out, int64_t n) {
  const Floats d;
  const auto product = [&](Vector a, Vector b) {
    return hn::IfThenElse(hn::Eq(a, hn::Zero(d)), hn::Zero(d), hn::Mul(a, b));
  };
  const double sum = sum_of(
      n, [&](Vector sums, int64_t i) { return hn::Add(sums, product(hn::LoadU(d, p + i), hn::LoadU(d, g + i))); },
      [&](Vector sums, int64_t i) {
        return hn::Add(sums, product(load_some(p + i, n - i, 0.0f), load_some(g + i, n - i, 0.0f)));
      });
  const Vector mean = hn::Set(d, static_cast<float>(sum)), by = hn::Set(d, factor);
  const auto gradient = [&](Vector a, Vector b) { return hn::Mul(by, product(a, hn::Sub(b, mean))); };
  if (visible == nullptr) return map(p, g, out, n, gradient);
  for (int64_t i = 0; i < n; i += lanes()) {
    const int64_t count = HWY_MIN(lanes(), n - i);
    const Vector seen = load_some(visible + i, count, 0.0f);
    const Vector value = gradient(load_some(p + i, count, 0.0f), load_some(g + i, count, 0.0f));
    store_some(hn::IfThenElse(hn::Eq(seen, hn::Zero(d)), hn::Zero(d), value), out + i, count);
  }
}

// With h = g gamma and y = (v - mean) factor: factor (h - mean of h - y mean of h y). Sums are double.
void norm_backward(const NormRow& row, const NormState& state, bool centered, const float* g, const NormSums& sums,
                   float* out, int64_t n) {
  const Floats d;
  const Vector high = hn::Set(d, state.high), low = hn::Set(d, state.low), factor = hn::Set(d, state.factor);
  const auto some = [&](const float* x, int64_t i) {
    return i + lanes() <= n ? hn::LoadU(d, x + i) : load_some(x + i, n - i, 0.0f);
  };
  const auto normal = [&](int64_t i) { return hn::Mul(hn::Sub(hn::Sub(some(state.v, i), high), low), factor); };
  const auto scaled = [&](int64_t i) {
    return row.gamma == nullptr ? some(g, i) : hn::Mul(some(g, i), some(row.gamma, i));
  };
  const auto add_scaled = [&](Vector total, int64_t i) { return hn::Add(total, scaled(i)); };
  const auto add_product = [&](Vector total, int64_t i) { return hn::MulAdd(scaled(i), normal(i), total); };
  const auto mean_of = [&](const auto& add_to) {
    return hn::Set(d, static_cast<float>(sum_of(n, add_to, add_to) / static_cast<double>(n)));
  };
  const Vector mean = centered ? mean_of(add_scaled) : hn::Zero(d), share = mean_of(add_product);
  const auto put = [&](Vector value, float* to, int64_t i) {
    if (i + lanes() <= n)
      hn::StoreU(value, d, to + i);
    else
      store_some(value, to + i, n - i);
  };
  for (int64_t i = 0; i < n; i += lanes()) {
    const Vector y = normal(i);
    Vector value = hn::Mul(factor, hn::NegMulAdd(y, share, hn::Sub(scaled(i), mean)));
    if (row.residual != nullptr) value = hn::Add(value, some(row.residual, i));
    if (sums.gamma != nullptr) put(hn::MulAdd(some(g, i), y, some(sums.gamma, i)), sums.gamma, i);
    if (sums.beta != nullptr) put(hn::Add(some(sums.beta, i), some(g, i)), sums.beta, i);
    if (sums.rows != nullptr) put(hn::Add(some(sums.rows, i), value), sums.rows, i);
    put(value, out, i);
  }
}

void layernorm_backward(const NormRow& row, const float* upstream, const NormSums& sums, float* out, int64_t n) {
  NormState state;
  NormRow of_x = row;
  of_x.residual = nullptr;
  find_mean(of_x, nullptr, n, &state);
  find_factor(row.eps, n, &state);
  norm_backward(row, state, true, upstream, sums, out, n);
}

void rmsnorm_backward(const NormRow& row, const float* upstream, const NormSums& sums, float* out, int64_t n) {
  NormState state;
  state.v = row.x;
  find_factor(row.eps, n, &state);
  norm_backward(row, state, false, upstream, sums, out, n);
}

void dropout(const DropoutRule& rule, uint64_t first, const float* x, float* out, int64_t n) {
  HWY_ALIGN uint32_t words[kPhiloxMaxWords];
  const int64_t per_call = philox_words();
  int64_t i = 0;
  while (i < n) {
    const uint64_t index = first + static_cast<uint64_t>(i);
    philox_blocks(rule.seed, rule.stream, index / 4, words);
    const int64_t skipped = static_cast<int64_t>(index % 4), count = HWY_MIN(per_call - skipped, n - i);
    for (int64_t j = 0; j < count; ++j)
      out[i + j] = words[skipped + j] < rule.words.threshold ? 0.0f : x[i + j] * rule.words.keep_scale;
    i += count;
  }
}

void copy_past_caches(const float* x, float* out, int64_t n) {
  const Floats d;
  const int64_t bytes = lanes() * static_cast<int64_t>(sizeof(float));
  // Stores that bypass the caches write whole aligned vectors.
  const auto beyond = static_cast<int64_t>(reinterpret_cast<uintptr_t>(out) % static_cast<uintptr_t>(bytes));
  int64_t i = 0;
  for (const int64_t end = HWY_MIN(n, (bytes - beyond) % bytes / static_cast<int64_t>(sizeof(float))); i < end; ++i)
    out[i] = x[i];
  for (; i + lanes() <= n; i += lanes()) hn::Stream(hn::LoadU(d, x + i), d, out + i);
  for (; i < n; ++i) out[i] = x[i];
}

void widen(DType type, const uint16_t* x, float* out, int64_t n) {
  int64_t i = 0;
  if (type == DType::BF16) {
    for (; i < n; ++i) out[i] = bfloat_to_float(x[i]);
    return;
  }
#if HEED_CONVERTS_F16
  const Floats d;
  const hn::Rebind<hwy::float16_t, Floats> narrow_tag;
  for (; i + lanes() <= n; i += lanes())
    hn::StoreU(hn::PromoteTo(d, hn::LoadU(narrow_tag, reinterpret_cast<const hwy::float16_t*>(x + i))), d, out + i);
#endif
  for (; i < n; ++i) out[i] = half_to_float(x[i]);
}

void narrow(DType type, const float* x, uint16_t* out, int64_t n) {
  int64_t i = 0;
  if (type == DType::BF16) {
    for (; i < n; ++i) out[i] = float_to_bfloat(x[i]);
    return;
  }
#if HEED_CONVERTS_F16
  const Floats d;
  const hn::Rebind<hwy::float16_t, Floats> narrow_tag;
  for (; i + lanes() <= n; i += lanes())
    hn::StoreU(hn::DemoteTo(narrow_tag, hn::LoadU(d, x + i)), narrow_tag, reinterpret_cast<hwy::float16_t*>(out + i));
#endif
  for (; i < n; ++i) out[i] = float_to_half(x[i]);
}

}  // namespace

const RowKernels* row_table() {
  static constexpr RowKernels kKernels = {nullptr,
                                          functions::apply<functions::Fast>,
                                          activate,
                                          activate_backward,
                                          add,
                                          multiply,
                                          scale,
                                          softmax,
                                          largest,
                                          powers_of,
                                          layernorm,
                                          rmsnorm,
                                          softmax_backward,
                                          layernorm_backward,
                                          rmsnorm_backward,
                                          dropout,
                                          copy_past_caches,
                                          widen,
                                          narrow};
  return &kKernels;
}

}  // namespace HWY_NAMESPACE
}  // namespace heed::cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace heed::cpu {
const RowKernels* row_kernels(int64_t target) { return HEED_FOR_TARGET(row_table, target)(); }
}  // namespace heed::cpu
#endif

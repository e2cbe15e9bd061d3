// The loops of attention for few queries, which read keys and values in their storage type, in long streams. Included once per instruction
// set (see Highway's foreach_target.h).
//
// Up to kMostRows queries share every row that is read. Sums stay in registers: for each query those of four keys, or four vectors of
// columns.
#if defined(HEED_CPU_ATTENTION_FEW_INL) == defined(HWY_TARGET_TOGGLE)
#ifdef HEED_CPU_ATTENTION_FEW_INL
#undef HEED_CPU_ATTENTION_FEW_INL
#else
#define HEED_CPU_ATTENTION_FEW_INL
#endif

#include <cstdint>
#include <limits>

#include "base/half.hpp"
#include "cpu/attention/attention_kernels.hpp"
#include "cpu/gemm/matmul_tile-inl.hpp"
#include "cpu/simd/vector_loops-inl.hpp"
#include "cpu/simd/vector_math-inl.hpp"
#include "hwy/highway.h"

// SVE vectors cannot be array elements, so rows are separate variables.
#ifndef HEED_EACH_QUERY
#define HEED_EACH_QUERY(X) X(0) X(1) X(2) X(3)
#endif

HWY_BEFORE_NAMESPACE();
namespace heed::cpu {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// 16 sums need 32 registers; 8 sums fit into 16.
inline constexpr int kMostRows = kTileRows == 12 ? 4 : 2;

// Rows of one storage type: loads whole vectors, or the last n elements.
struct RowsF32 : PanelF32 {
  static HWY_INLINE Vector load(const float* at) { return hn::LoadU(Floats(), at); }
  static HWY_INLINE Vector load_some(const float* at, int64_t n) { return HWY_NAMESPACE::load_some(at, n, 0.0f); }
};
template <class Load, float (*kWiden)(uint16_t)>
struct RowsOf16 {
  using Element = uint16_t;
  static HWY_INLINE Vector load(const uint16_t* at) { return Load::load(at); }
  static HWY_INLINE Vector load_some(const uint16_t* at, int64_t n) {
    HWY_ALIGN float buffer[hn::MaxLanes(Floats())] = {};
    for (int64_t i = 0; i < n; ++i) buffer[i] = kWiden(at[i]);
    return hn::Load(Floats(), buffer);
  }
};
struct LoadF16 {
  static HWY_INLINE Vector load(const uint16_t* at) { return PanelF16::load<0>(at); }
};
struct LoadBF16 {
  static HWY_INLINE Vector load(const uint16_t* at) {
    const hn::RebindToUnsigned<Floats> wide;
    const hn::Rebind<uint16_t, Floats> narrow;
    return hn::BitCast(Floats(), hn::ShiftLeft<16>(hn::PromoteTo(wide, hn::LoadU(narrow, at))));
  }
};
using RowsF16 = RowsOf16<LoadF16, half_to_float>;
using RowsBF16 = RowsOf16<LoadBF16, bfloat_to_float>;

// Calls f(rows type, constant number of queries).
template <class F>
HWY_INLINE void with_rows(DType type, int64_t queries, const F& f) {
  const auto with_count = [&](auto rows) {
    switch (queries) {
      case 1: return f(rows, std::integral_constant<int, 1>());
      case 2: return f(rows, std::integral_constant<int, 2>());
      case 3: return f(rows, std::integral_constant<int, kMostRows >= 3 ? 3 : 2>());
      default: return f(rows, std::integral_constant<int, kMostRows>());
    }
  };
  if (type == DType::F16) return with_count(RowsF16());
  if (type == DType::BF16) return with_count(RowsBF16());
  with_count(RowsF32());
}

// Writes the sum of the lanes of each of four vectors, times a factor, to out[0 .. n - 1].
#if HWY_HAVE_SCALABLE || HWY_TARGET == HWY_SCALAR
HWY_INLINE void store_sums(Vector a, Vector b, Vector c, Vector e, float factor, int64_t n, float* out) {
  const Floats d;
  const float sums[4] = {hn::GetLane(hn::SumOfLanes(d, a)), hn::GetLane(hn::SumOfLanes(d, b)),
                         hn::GetLane(hn::SumOfLanes(d, c)), hn::GetLane(hn::SumOfLanes(d, e))};
  for (int64_t i = 0; i < n; ++i) out[i] = factor * sums[i];
}
#else
template <class D>
HWY_INLINE auto sum_blocks(D d, hn::Vec<D> v) {
  if constexpr (hn::MaxLanes(d) <= 4) {
    return v;
  } else {
    const hn::Half<D> half;
    return sum_blocks(half, hn::Add(hn::LowerHalf(half, v), hn::UpperHalf(half, v)));
  }
}
HWY_INLINE void store_sums(Vector a, Vector b, Vector c, Vector e, float factor, int64_t n, float* out) {
  const Floats d;
  const hn::Repartition<uint64_t, Floats> pairs;
  const hn::CappedTag<float, 4> four;
  const auto ab = hn::BitCast(pairs, hn::Add(hn::InterleaveLower(d, a, b), hn::InterleaveUpper(d, a, b)));
  const auto ce = hn::BitCast(pairs, hn::Add(hn::InterleaveLower(d, c, e), hn::InterleaveUpper(d, c, e)));
  const Vector all =
      hn::Add(hn::BitCast(d, hn::InterleaveLower(pairs, ab, ce)), hn::BitCast(d, hn::InterleaveUpper(pairs, ab, ce)));
  const auto sums = hn::Mul(sum_blocks(d, all), hn::Set(four, factor));
  if (n >= 4) return hn::StoreU(sums, four, out);
  HWY_ALIGN float buffer[4];
  hn::Store(sums, four, buffer);
  for (int64_t i = 0; i < n; ++i) out[i] = buffer[i];
}
#endif

// Dot products: adds the products of whole vectors, then those of the rest of the width.
template <class Rows, int kQueries>
void dot_rows(const Queries& queries, const StoredRows& rows, int64_t count, int64_t width, float factor, float* out,
              int64_t out_pitch) {
  const Floats d;
  using Element = typename Rows::Element;
  const auto* const all = static_cast<const Element*>(rows.data);
  const int64_t whole = width / lanes() * lanes(), pitch = rows.pitch;
  for (int64_t j = 0; j < count; j += 4) {
    // Past the last row, that row is computed again, and the results are not stored.
    const Element* const r0 = all + j * pitch;
    const Element* const r1 = all + HWY_MIN(j + 1, count - 1) * pitch;
    const Element* const r2 = all + HWY_MIN(j + 2, count - 1) * pitch;
    const Element* const r3 = all + HWY_MIN(j + 3, count - 1) * pitch;
#define HEED_QUERY(i) Vector s##i##0 = hn::Zero(d), s##i##1 = s##i##0, s##i##2 = s##i##0, s##i##3 = s##i##0;
    HEED_EACH_QUERY(HEED_QUERY)
#undef HEED_QUERY
#define HEED_QUERY(i)                                                     \
  if constexpr (i < kQueries) {                                           \
    const Vector q = at_query(queries.data + i * queries.pitch + column); \
    s##i##0 = hn::MulAdd(q, k0, s##i##0);                                 \
    s##i##1 = hn::MulAdd(q, k1, s##i##1);                                 \
    s##i##2 = hn::MulAdd(q, k2, s##i##2);                                 \
    s##i##3 = hn::MulAdd(q, k3, s##i##3);                                 \
  }
    int64_t column = 0;
    for (; column < whole; column += lanes()) {
      const auto at_query = [&](const float* at) { return hn::LoadU(d, at); };
      const Vector k0 = Rows::load(r0 + column), k1 = Rows::load(r1 + column);
      const Vector k2 = Rows::load(r2 + column), k3 = Rows::load(r3 + column);
      HEED_EACH_QUERY(HEED_QUERY)
    }
    if (const int64_t n = width - whole; n > 0) {
      const auto at_query = [&](const float* at) { return load_some(at, n, 0.0f); };
      const Vector k0 = Rows::load_some(r0 + column, n), k1 = Rows::load_some(r1 + column, n);
      const Vector k2 = Rows::load_some(r2 + column, n), k3 = Rows::load_some(r3 + column, n);
      HEED_EACH_QUERY(HEED_QUERY)
    }
#undef HEED_QUERY
#define HEED_QUERY(i)         \
  if constexpr (i < kQueries) \
    store_sums(s##i##0, s##i##1, s##i##2, s##i##3, factor, HWY_MIN(count - j, 4), out + i * out_pitch + j);
    HEED_EACH_QUERY(HEED_QUERY)
#undef HEED_QUERY
  }
}

// Replaces a row whose weights are all 0: its values may be infinite or NaN, and 0 times infinity is NaN.
HWY_ALIGN constexpr float kZeros[4 * hn::MaxLanes(Floats())] = {};

// Whether row j has a nonzero weight.
template <int kQueries>
HWY_INLINE bool counts(const Queries& weights, int64_t j) {
  bool some = weights.data[j] != 0.0f;
  if constexpr (kQueries > 1) some |= weights.data[weights.pitch + j] != 0.0f;
  if constexpr (kQueries > 2) some |= weights.data[2 * weights.pitch + j] != 0.0f;
  if constexpr (kQueries > 3) some |= weights.data[3 * weights.pitch + j] != 0.0f;
  return some;
}

// Weighted sums of four vectors of columns.
template <class Rows, int kQueries>
HWY_INLINE void mix_four(const Queries& weights, const typename Rows::Element* rows, int64_t pitch, int64_t count,
                         float* out, int64_t out_pitch) {
  const Floats d;
  const auto* const zeros = reinterpret_cast<const typename Rows::Element*>(kZeros);
#define HEED_QUERY(i) Vector s##i##0 = hn::Zero(d), s##i##1 = s##i##0, s##i##2 = s##i##0, s##i##3 = s##i##0;
  HEED_EACH_QUERY(HEED_QUERY)
#undef HEED_QUERY
  for (int64_t j = 0; j < count; ++j) {
    const auto* const row = counts<kQueries>(weights, j) ? rows + j * pitch : zeros;
    const Vector v0 = Rows::load(row), v1 = Rows::load(row + lanes());
    const Vector v2 = Rows::load(row + 2 * lanes()), v3 = Rows::load(row + 3 * lanes());
#define HEED_QUERY(i)                                                 \
  if constexpr (i < kQueries) {                                       \
    const Vector w = hn::Set(d, weights.data[i * weights.pitch + j]); \
    s##i##0 = hn::MulAdd(w, v0, s##i##0);                             \
    s##i##1 = hn::MulAdd(w, v1, s##i##1);                             \
    s##i##2 = hn::MulAdd(w, v2, s##i##2);                             \
    s##i##3 = hn::MulAdd(w, v3, s##i##3);                             \
  }
    HEED_EACH_QUERY(HEED_QUERY)
#undef HEED_QUERY
  }
#define HEED_QUERY(i)                         \
  if constexpr (i < kQueries) {               \
    float* const to = out + i * out_pitch;    \
    hn::StoreU(s##i##0, d, to);               \
    hn::StoreU(s##i##1, d, to + lanes());     \
    hn::StoreU(s##i##2, d, to + 2 * lanes()); \
    hn::StoreU(s##i##3, d, to + 3 * lanes()); \
  }
  HEED_EACH_QUERY(HEED_QUERY)
#undef HEED_QUERY
}

// Weighted sums of one vector of columns, or of the last n < lanes columns.
template <class Rows, int kQueries>
HWY_INLINE void mix_one(const Queries& weights, const typename Rows::Element* rows, int64_t pitch, int64_t count,
                        int64_t n, float* out, int64_t out_pitch) {
  const Floats d;
  const auto* const zeros = reinterpret_cast<const typename Rows::Element*>(kZeros);
#define HEED_QUERY(i) Vector s##i = hn::Zero(d);
  HEED_EACH_QUERY(HEED_QUERY)
#undef HEED_QUERY
  for (int64_t j = 0; j < count; ++j) {
    const auto* const row = counts<kQueries>(weights, j) ? rows + j * pitch : zeros;
    const Vector v = n >= lanes() ? Rows::load(row) : Rows::load_some(row, n);
#define HEED_QUERY(i) \
  if constexpr (i < kQueries) s##i = hn::MulAdd(hn::Set(d, weights.data[i * weights.pitch + j]), v, s##i);
    HEED_EACH_QUERY(HEED_QUERY)
#undef HEED_QUERY
  }
#define HEED_QUERY(i) \
  if constexpr (i < kQueries) store_some(s##i, out + i * out_pitch, HWY_MIN(n, lanes()));
  HEED_EACH_QUERY(HEED_QUERY)
#undef HEED_QUERY
}

void dot(const Queries& queries, const StoredRows& rows, int64_t count, int64_t width, float factor, float* out,
         int64_t out_pitch) {
  with_rows(rows.type, queries.count, [&](auto of, auto constant) {
    dot_rows<decltype(of), decltype(constant)::value>(queries, rows, count, width, factor, out, out_pitch);
  });
}

void mix(const Queries& weights, const StoredRows& rows, int64_t count, int64_t width, float* out, int64_t out_pitch) {
  with_rows(rows.type, weights.count, [&](auto of, auto constant) {
    using Rows = decltype(of);
    constexpr int kQueries = decltype(constant)::value;
    const auto* const all = static_cast<const typename Rows::Element*>(rows.data);
    int64_t c = 0;
    for (; c + 4 * lanes() <= width; c += 4 * lanes())
      mix_four<Rows, kQueries>(weights, all + c, rows.pitch, count, out + c, out_pitch);
    for (; c < width; c += lanes())
      mix_one<Rows, kQueries>(weights, all + c, rows.pitch, count, width - c, out + c, out_pitch);
  });
}

float weigh(float* logits, int64_t n, float* largest) {
  const Floats d;
  constexpr float kLeast = -std::numeric_limits<float>::infinity();
  const int64_t whole = n / lanes() * lanes();
  // This comparison ignores NaN.
  const auto larger = [](Vector a, Vector b) { return hn::IfThenElse(hn::Gt(a, b), a, b); };
  Vector most = hn::Set(d, kLeast);
  for (int64_t i = 0; i < whole; i += lanes()) most = larger(hn::LoadU(d, logits + i), most);
  if (whole < n) most = larger(load_some(logits + whole, n - whole, kLeast), most);
  *largest = hn::GetLane(hn::MaxOfLanes(d, most));
  // Without a visible key nothing is subtracted: weights are 0, or NaN if a logit is.
  const Vector base = hn::Set(d, *largest == kLeast ? 0.0f : *largest);
  Vector s0 = hn::Zero(d), s1 = s0;
  int64_t i = 0;
  const auto weight = [&](Vector logit) { return vector_exp_to_88(d, hn::Sub(logit, base)); };
  for (; i + 2 * lanes() <= n; i += 2 * lanes()) {
    const Vector e0 = weight(hn::LoadU(d, logits + i)), e1 = weight(hn::LoadU(d, logits + i + lanes()));
    hn::StoreU(e0, d, logits + i);
    hn::StoreU(e1, d, logits + i + lanes());
    s0 = hn::Add(s0, e0);
    s1 = hn::Add(s1, e1);
  }
  for (; i < n; i += lanes()) {
    const Vector e = weight(load_some(logits + i, HWY_MIN(lanes(), n - i), kLeast));
    store_some(e, logits + i, HWY_MIN(lanes(), n - i));
    s0 = hn::Add(s0, e);
  }
  return hn::GetLane(hn::SumOfLanes(d, hn::Add(s0, s1)));
}

}  // namespace HWY_NAMESPACE
}  // namespace heed::cpu
HWY_AFTER_NAMESPACE();

#endif

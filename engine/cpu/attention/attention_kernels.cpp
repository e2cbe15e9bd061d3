#include "cpu/attention/attention_kernels.hpp"

#include <limits>

#include "cpu/simd/kernels.hpp"
#include "cpu/simd/targets.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "cpu/attention/attention_kernels.cpp"
#include "hwy/foreach_target.h"  // IWYU pragma: keep
//
#include "cpu/attention/attention_few-inl.hpp"
#include "cpu/simd/dispatch.hpp"
#include "cpu/simd/vector_loops-inl.hpp"
#include "cpu/simd/vector_math-inl.hpp"
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace heed::cpu {
namespace HWY_NAMESPACE {
namespace {

HWY_INLINE int64_t block_queries() { return 2 * lanes(); }

// Calls f(v, c, r) for the columns of all whole 4 x 4 squares of `from`: element i of v is from[r + i][c].
using Four = hn::CappedTag<float, 4>;
using FourVector = hn::Vec<Four>;

template <class F>
HWY_INLINE void for_squares(const float* from, int64_t pitch, int64_t rows, int64_t cols, const F& f) {
  const Four d;
  for (int64_t r = 0; r + 4 <= rows; r += 4)
    for (int64_t c = 0; c + 4 <= cols; c += 4) {
      const float* at = from + r * pitch + c;
#if HWY_TARGET == HWY_SCALAR
      for (int64_t i = 0; i < 4; ++i)
        for (int64_t j = 0; j < 4; ++j) f(hn::Set(d, at[i * pitch + j]), c + j, r + i);
#else
      const FourVector x0 = hn::LoadU(d, at), x1 = hn::LoadU(d, at + pitch);
      const FourVector x2 = hn::LoadU(d, at + 2 * pitch), x3 = hn::LoadU(d, at + 3 * pitch);
      const FourVector low01 = hn::InterleaveLower(d, x0, x1), high01 = hn::InterleaveUpper(d, x0, x1);
      const FourVector low23 = hn::InterleaveLower(d, x2, x3), high23 = hn::InterleaveUpper(d, x2, x3);
      f(hn::ConcatLowerLower(d, low23, low01), c, r);
      f(hn::ConcatUpperUpper(d, low23, low01), c + 1, r);
      f(hn::ConcatLowerLower(d, high23, high01), c + 2, r);
      f(hn::ConcatUpperUpper(d, high23, high01), c + 3, r);
#endif
    }
}

// to[c][r] = combine(to[c][r], from[r][c]), by 4 x 4 squares, and element by element at the edges.
template <class Combine>
HWY_INLINE void transpose(const float* from, int64_t from_pitch, int64_t rows, int64_t cols, float* to,
                          int64_t to_pitch, const Combine& combine) {
  const Four d;
  for_squares(from, from_pitch, rows, cols, [&](FourVector v, int64_t c, int64_t r) {
    float* at = to + c * to_pitch + r;
    hn::StoreU(combine(d, hn::LoadU(d, at), v, r), d, at);
  });
  const hn::CappedTag<float, 1> one;
  const int64_t square_rows = rows / 4 * 4, square_cols = cols / 4 * 4;
  for (int64_t r = 0; r < rows; ++r)
    for (int64_t c = r < square_rows ? square_cols : 0; c < cols; ++c) {
      float* at = to + c * to_pitch + r;
      *at = hn::GetLane(combine(one, hn::Set(one, *at), hn::Set(one, from[r * from_pitch + c]), r));
    }
}

void pack(const float* rows, int64_t pitch, int64_t count, int64_t width, float factor, float* panel) {
  const int64_t queries = block_queries();
  if (count < queries)
    for (int64_t i = 0; i < width * queries; ++i) panel[i] = 0.0f;
  transpose(rows, pitch, count, width, panel, queries,
            [&](auto d, auto, auto x, int64_t) { return hn::Mul(x, hn::Set(d, factor)); });
}

// The panel is read along its rows here, so squares are [c][r].
void unpack(const float* panel, const float* factors, int64_t count, int64_t width, float* rows, int64_t pitch) {
  const int64_t queries = block_queries();
  const Four d;
  for_squares(panel, queries, width, count, [&](FourVector v, int64_t r, int64_t c) {
    const FourVector factor = hn::Set(d, factors[r]);
    hn::StoreU(hn::IfThenZeroElse(hn::Eq(factor, hn::Zero(d)), hn::Mul(v, factor)), d, rows + r * pitch + c);
  });
  const int64_t square_width = width / 4 * 4, square_count = count / 4 * 4;
  for (int64_t r = 0; r < count; ++r)
    for (int64_t c = r < square_count ? square_width : 0; c < width; ++c)
      rows[r * pitch + c] = factors[r] == 0.0f ? 0.0f : panel[c * queries + r] * factors[r];
}

void add(const float* rows, int64_t pitch, int64_t count, int64_t width, float factor, float* panel) {
  // The summand is clamped so that multiplying by the factor does not make it infinite.
  const float most = std::numeric_limits<float>::max() / (2 * HWY_MAX(1.0f, factor));
  transpose(rows, pitch, count, width, panel, block_queries(), [&](auto d, auto old, auto x, int64_t) {
    const auto limit = hn::Set(d, most), size = hn::Abs(x);
    const auto far = hn::And(hn::Gt(size, limit), hn::Lt(size, hn::Set(d, std::numeric_limits<float>::infinity())));
    return hn::MulAdd(hn::IfThenElse(far, hn::CopySign(limit, x), x), hn::Set(d, factor), old);
  });
}
void multiply(const float* rows, int64_t pitch, int64_t count, int64_t width, float* panel) {
  transpose(rows, pitch, count, width, panel, block_queries(),
            [](auto, auto old, auto x, int64_t) { return hn::Mul(old, x); });
}

void fill_triangle(float* scores, int64_t keys, int64_t first, float value) {
  const Floats d;
  const hn::RebindToSigned<Floats> di;
  const Vector filled = hn::Set(d, value);
  const auto left = hn::Iota(di, 0), right = hn::Iota(di, static_cast<int32_t>(lanes()));
  for (int64_t r = 0; r < keys; ++r) {
    const auto limit = hn::Set(di, static_cast<int32_t>(HWY_MAX(int64_t{0}, HWY_MIN(first + r, block_queries()))));
    float* row = scores + r * block_queries();
    hn::StoreU(hn::IfThenElse(hn::RebindMask(d, hn::Lt(left, limit)), filled, hn::LoadU(d, row)), d, row);
    row += lanes();
    hn::StoreU(hn::IfThenElse(hn::RebindMask(d, hn::Lt(right, limit)), filled, hn::LoadU(d, row)), d, row);
  }
}

// Processes one of the two vectors of lanes of `advance`. Returns the factor for earlier sums.
HWY_INLINE Vector advance_lanes(float* HWY_RESTRICT scores, int64_t keys, float* largest, float* sums) {
  const Floats d;
  const int64_t pitch = block_queries();
  const Vector hidden = hn::Set(d, -std::numeric_limits<float>::infinity());
  const Vector old = hn::LoadU(d, largest);
  Vector m0 = old, m1 = old;
  int64_t r = 0;
  for (; r + 2 <= keys; r += 2) {
    m0 = hn::Max(hn::LoadU(d, scores + r * pitch), m0);
    m1 = hn::Max(hn::LoadU(d, scores + (r + 1) * pitch), m1);
  }
  if (r < keys) m0 = hn::Max(hn::LoadU(d, scores + r * pitch), m0);
  m0 = hn::Max(m0, m1);
  hn::StoreU(m0, d, largest);
  // A lane without keys so far uses 0 as its maximum: powers of its scores of -infinity are then 0 instead of NaN.
  const Vector base = hn::IfThenElse(hn::Eq(m0, hidden), hn::Zero(d), m0);
  const Vector factor = vector_exp2(d, hn::Sub(old, base));
  Vector s0 = hn::Zero(d), s1 = s0;
  for (r = 0; r + 2 <= keys; r += 2) {
    const Vector e0 = vector_exp2(d, hn::Sub(hn::LoadU(d, scores + r * pitch), base));
    const Vector e1 = vector_exp2(d, hn::Sub(hn::LoadU(d, scores + (r + 1) * pitch), base));
    hn::StoreU(e0, d, scores + r * pitch);
    hn::StoreU(e1, d, scores + (r + 1) * pitch);
    s0 = hn::Add(s0, e0);
    s1 = hn::Add(s1, e1);
  }
  if (r < keys) {
    const Vector e = vector_exp2(d, hn::Sub(hn::LoadU(d, scores + r * pitch), base));
    hn::StoreU(e, d, scores + r * pitch);
    s0 = hn::Add(s0, e);
  }
  hn::StoreU(hn::MulAdd(hn::LoadU(d, sums), factor, hn::Add(s0, s1)), d, sums);
  return factor;
}

void advance(float* scores, int64_t keys, float* largest, float* sums, float* values, int64_t d_v) {
  const Floats d;
  const Vector left = advance_lanes(scores, keys, largest, sums);
  const Vector right = advance_lanes(scores + lanes(), keys, largest + lanes(), sums + lanes());
  const Vector one = hn::Set(d, 1.0f);
  if (hn::AllTrue(d, hn::And(hn::Eq(left, one), hn::Eq(right, one)))) return;
  for (int64_t r = 0; r < d_v; ++r) {
    float* row = values + r * block_queries();
    hn::StoreU(hn::Mul(hn::LoadU(d, row), left), d, row);
    hn::StoreU(hn::Mul(hn::LoadU(d, row + lanes()), right), d, row + lanes());
  }
}

void slopes(const SlopeRow& row) {
  const Floats d;
  const hn::RebindToSigned<Floats> di;
  const Vector by = hn::Set(d, row.logit_scale), log_sum = hn::Set(d, row.log_sum), delta = hn::Set(d, row.delta),
               scale = hn::Set(d, row.scale), zero = hn::Zero(d);
  const int64_t step = lanes();
  for (int64_t v = 0; v < 2 * row.panels; ++v) {
    const int64_t at = v / 2 * row.panel_pitch + v % 2 * step, first = v * step;
    if (first >= row.end || first + step <= row.begin) {
      hn::StoreU(zero, d, row.weights + at);
      hn::StoreU(zero, d, row.slopes + at);
      continue;
    }
    const Vector logit = hn::Mul(hn::LoadU(d, row.weights + at), by);
    Vector weight = vector_exp_to_88(d, hn::Sub(logit, log_sum)), product = hn::LoadU(d, row.slopes + at);
    if (first < row.begin || first + step > row.end) {
      const auto key = hn::Iota(di, static_cast<int32_t>(first));
      const auto counts = hn::And(hn::Lt(key, hn::Set(di, static_cast<int32_t>(row.end))),
                                  hn::Not(hn::Lt(key, hn::Set(di, static_cast<int32_t>(row.begin)))));
      weight = hn::IfThenElse(hn::RebindMask(d, counts), weight, zero);
    }
    if (row.factors != nullptr) product = hn::Mul(product, hn::LoadU(d, row.factors + first));
    const Vector slope = hn::Mul(hn::Mul(scale, weight), hn::Sub(product, delta));
    auto none = hn::Eq(weight, zero);
    if (row.passes != nullptr) none = hn::Or(none, hn::Eq(hn::LoadU(d, row.passes + first), zero));
    if (row.factors != nullptr) weight = hn::Mul(weight, hn::LoadU(d, row.factors + first));
    hn::StoreU(weight, d, row.weights + at);
    hn::StoreU(hn::IfThenElse(none, zero, slope), d, row.slopes + at);
  }
}

double product(const float* a, const float* b, int64_t n) {
  const Floats d;
  return sum_of(
      n, [&](Vector sums, int64_t i) { return hn::MulAdd(hn::LoadU(d, a + i), hn::LoadU(d, b + i), sums); },
      [&](Vector sums, int64_t i) {
        return hn::MulAdd(load_some(a + i, n - i, 0.0f), load_some(b + i, n - i, 0.0f), sums);
      });
}

const AttentionKernels& table() {
  static const AttentionKernels kernels = {
      block_queries(), pack,      unpack, add,   multiply, fill_triangle, advance, slopes,
      product,         kMostRows, dot,    weigh, mix};
  return kernels;
}

}  // namespace

const AttentionKernels* attention_table() { return &table(); }

}  // namespace HWY_NAMESPACE
}  // namespace heed::cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace heed::cpu {
const AttentionKernels* attention_kernels(int64_t target) { return HEED_FOR_TARGET(attention_table, target)(); }
}  // namespace heed::cpu
#endif

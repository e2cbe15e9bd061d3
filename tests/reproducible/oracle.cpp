#include "reproducible/oracle.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <iterator>
#include <limits>

namespace heed::reproducible {
namespace {

constexpr int64_t kSums = 128;

uint32_t bits_of(float x) { return std::bit_cast<uint32_t>(x); }
float of_bits(uint32_t bits) { return std::bit_cast<float>(bits); }
float upper_part(float x) { return of_bits(bits_of(x) & 0xfffff000u); }
float within(float x, float low, float high) { return x > high ? high : x < low ? low : x; }

float product_of(Fault fault, float a, float b) {
  if (fault != Fault::RoundedDown) return a * b;
  // The product of two floats is exact in double.
  const double exact = static_cast<double>(a) * static_cast<double>(b);
  const float near = static_cast<float>(exact);
  return std::fabs(static_cast<double>(near)) > std::fabs(exact) ? std::nextafter(near, 0.0f) : near;
}

}  // namespace

float coarse(float x) { return std::fabs(x) < 0x1p-51f ? 0.0f : x; }
float on_grid(float x) { return std::fabs(x) < 0x1p-102f ? 0.0f : x; }

const char* to_string(Fault fault) {
  constexpr const char* kNames[] = {"none",
                                    "products with one rounding",
                                    "k from its end",
                                    "k in two halves",
                                    "k by four sums",
                                    "products summed in double",
                                    "small factors count",
                                    "scale and bias with one rounding",
                                    "64 sums for a row",
                                    "neighbours of a row first",
                                    "rows summed in double",
                                    "std::exp",
                                    "weights divided by their sum",
                                    "a reciprocal without its last step",
                                    "1 / std::sqrt",
                                    "means divided by their count",
                                    "subnormals kept",
                                    "2^-126 kept",
                                    "NaN as they are",
                                    "-0 kept",
                                    "a fused polynomial",
                                    "products rounded towards zero",
                                    "values of hidden keys count",
                                    "std::log",
                                    "rows of a table from their end",
                                    "rows of a norm one after the other"};
  return kNames[static_cast<size_t>(fault)];
}

float Oracle::flush(float x) const {
  if (fault == Fault::KeptSubnormals) return x == 0.0f ? 0.0f : x;
  if (fault == Fault::FlushedBelow) return std::fabs(x) < 0x1p-126f ? 0.0f : x;
  if (fault == Fault::SignedZeros) return std::fabs(x) <= 0x1p-126f ? std::copysign(0.0f, x) : x;
  return std::fabs(x) <= 0x1p-126f ? 0.0f : x;
}
float Oracle::canonical(float x) const {
  if (x != x) return fault == Fault::PayloadOfNan ? x : of_bits(0x7fc00000u);
  return flush(x);
}
float Oracle::times(float a, float b) const { return flush(product_of(fault, a, b)); }
float Oracle::plus(float a, float b) const { return flush(a + b); }
float Oracle::multiply_add(float a, float b, float c) const {
  return fault == Fault::FusedPolynomial ? std::fma(a, b, c) : a * b + c;
}

float Oracle::reciprocal(float x) const {
  float y = of_bits(0x7ef311c3u - bits_of(x));
  for (int i = 0; i < 3; ++i) y = y * (2.0f - x * y);
  if (fault == Fault::RoughReciprocal) return y;
  const float xh = upper_part(x), xl = x - xh, yh = upper_part(y), yl = y - yh;
  float rest = 1.0f - xh * yh;
  rest = rest - xh * yl;
  rest = rest - xl * yh;
  rest = rest - xl * yl;
  return y * rest + y;
}

float Oracle::reciprocal_root(float x) const {
  if (fault == Fault::LibraryRoot) return 1.0f / std::sqrt(x);
  float y = of_bits(0x5f375a86u - (bits_of(x) >> 1));
  const float half = 0.5f * x;
  for (int i = 0; i < 4; ++i) y = y * (1.5f - half * y * y);
  return y;
}

float Oracle::exp(float any) const {
  if (fault == Fault::LibraryExp) return any < -87.0f ? 0.0f : std::exp(any);
  const float x = within(std::fabs(any) < 0x1p-30f ? 0.0f : any, -87.0f, 88.0f);
  const float shifted = x * 1.44269504f + 12582912.0f, n = shifted - 12582912.0f;
  float r = x - n * 0.693359375f;
  r = r + n * 2.12194440e-4f;
  float e = multiply_add(1.38145406e-3f, r, 8.36874545e-3f);
  e = multiply_add(e, r, 4.16683890e-2f);
  e = multiply_add(e, r, 1.66665211e-1f);
  e = multiply_add(e, r, 0.5f);
  e = multiply_add(e, r * r, r);
  e = e + 1.0f;
  return any < -87.0f ? 0.0f : e * of_bits((bits_of(shifted) << 23) + 0x3f800000u);
}

float Oracle::normal_tail(float t) const {
  const float t2 = t * t;
  float q = multiply_add(-1.74112724e-8f, t2, multiply_add(5.65994128e-7f, t, -7.84307213e-6f));
  q = multiply_add(q, t2, multiply_add(5.84889312e-5f, t, -2.19328926e-4f));
  q = multiply_add(q, t2, multiply_add(-1.19846773e-4f, t, 7.08339456e-3f));
  q = multiply_add(q, t2, multiply_add(-5.25237918e-2f, t, -4.59198058e-1f));
  q = multiply_add(q, t2, multiply_add(-1.15110624f, t, -1.0f));
  const float shifted = q + 12582912.0f, r = q - (shifted - 12582912.0f);
  float e = multiply_add(1.32647273e-3f, r, 9.67151299e-3f);
  e = multiply_add(e, r, 5.55073358e-2f);
  e = multiply_add(e, r, 2.40222424e-1f);
  e = multiply_add(e, r, 6.93147004e-1f);
  e = multiply_add(e, r, 1.0f);
  return e * of_bits((bits_of(shifted) << 23) + 0x3f800000u);
}

float Oracle::activate(Activation kind, float x) const {
  if (kind == Activation::None || x != x) return x;
  const auto sigmoid = [&](float at) {
    const float e = exp(-std::fabs(at)), whole = reciprocal(1.0f + e);
    return at < 0.0f ? times(e, whole) : whole;
  };
  const float t = std::fabs(x);
  switch (kind) {
    case Activation::Relu: return x < 0.0f ? 0.0f : x;
    case Activation::GeluErf: {
      const float positive = x < 0.0f ? 0.0f : x, u = t > 6.0f ? 6.0f : t;
      return t > 6.0f ? positive : flush(positive - times(u, normal_tail(u)));
    }
    case Activation::GeluTanh: {
      const float bounded = within(x, -1.0e4f, 1.0e4f);
      const float cubic = multiply_add(bounded * bounded, 0.044715f, 1.0f);
      const float twice = bounded * cubic * 1.59576912f;
      return twice < -87.0f ? 0.0f : times(x, sigmoid(twice));
    }
    case Activation::Silu: return x < -87.0f ? 0.0f : times(x, sigmoid(x));
    default: break;
  }
  if (t < 0.625f) {
    const float s = x * x;
    float p = multiply_add(-5.70493331e-3f, s, 2.06390414e-2f);
    p = multiply_add(p, s, -5.37397005e-2f);
    p = multiply_add(p, s, 1.33314416e-1f);
    p = multiply_add(p, s, -3.33332807e-1f);
    return flush(multiply_add(p * s, x, x));
  }
  const float e = exp(t * -2.0f), y = (1.0f - e) * reciprocal(1.0f + e);
  return x < 0.0f ? -y : y;
}

Floats Oracle::product(const Floats& a, const Floats& b, const Floats& bias, int64_t m, int64_t n, float scale,
                       Activation kind, Zeros zeros) const {
  const int64_t k = static_cast<int64_t>(a.size()) / m;
  const auto factor = [&](float x) { return fault == Fault::FineFactors ? x : coarse(x); };
  const auto sum = [&](int64_t row, int64_t column) {
    const auto term = [&](int64_t p) {
      return std::pair{factor(a[static_cast<size_t>(row * k + p)]), factor(b[static_cast<size_t>(p * n + column)])};
    };
    const auto over = [&](int64_t first, int64_t end, int64_t step) {
      float s = 0.0f;
      double wide = 0.0;
      for (int64_t p = first; p != end; p += step) {
        const auto [x, y] = term(p);
        if (zeros == Zeros::Skipped && x == 0.0f && fault != Fault::HiddenValues) continue;
        if (fault == Fault::DoubleProducts) wide += static_cast<double>(x) * static_cast<double>(y);
        s = fault == Fault::FusedProducts ? std::fma(x, y, s) : s + product_of(fault, x, y);
      }
      return fault == Fault::DoubleProducts ? static_cast<float>(wide) : s;
    };
    if (fault == Fault::ReversedProducts) return over(k - 1, -1, -1);
    if (fault == Fault::HalvesOfProducts) return over(0, k / 2, 1) + over(k / 2, k, 1);
    if (fault == Fault::LanesOfProducts) {
      const int64_t whole = k / 4 * 4;
      return ((over(0, whole, 4) + over(1, whole + 1, 4)) + (over(2, whole + 2, 4) + over(3, whole + 3, 4))) +
             over(whole, k, 1);
    }
    return over(0, k, 1);
  };
  Floats out;
  for (int64_t row = 0; row < m; ++row)
    for (int64_t column = 0; column < n; ++column) {
      const float s = sum(row, column);
      float value = times(s, scale);
      if (!bias.empty()) {
        const float added = flush(bias[static_cast<size_t>(column)]);
        value = fault == Fault::FusedEpilogue ? flush(std::fma(s, scale, added)) : plus(value, added);
      }
      out.push_back(canonical(activate(kind, value)));
    }
  return out;
}

float Oracle::row_sum(const Floats& values) const {
  if (fault == Fault::DoubleRows) {
    double sum = 0.0;
    for (const float x : values) sum += static_cast<double>(x);
    return static_cast<float>(sum);
  }
  const auto sums = static_cast<size_t>(fault == Fault::LanesOfRows ? kSums / 2 : kSums);
  Floats at(sums, 0.0f);
  for (size_t i = 0; i < values.size(); ++i) at[i % sums] = at[i % sums] + values[i];
  if (fault == Fault::NeighboursOfRows) {
    for (size_t width = sums; width > 1; width /= 2)
      for (size_t i = 0; i < width / 2; ++i) at[i] = at[2 * i] + at[2 * i + 1];
    return at[0];
  }
  for (size_t width = sums / 2; width > 0; width /= 2)
    for (size_t i = 0; i < width; ++i) at[i] = at[i] + at[i + width];
  return at[0];
}

float Oracle::over(float sum, int64_t n) const {
  return fault == Fault::DividedMean ? flush(sum / static_cast<float>(n))
                                     : times(sum, reciprocal(static_cast<float>(n)));
}

namespace {

// Calls row(first, last) for rows of n elements.
template <class Row>
Floats by_rows(const Floats& x, int64_t n, const Row& row) {
  Floats out;
  for (auto first = x.begin(); first != x.end(); first += n)
    for (const float v : row(Floats(first, first + n))) out.push_back(v);
  return out;
}

}  // namespace

float row_scale(const Floats& values, uint32_t least) {
  for (const float x : values) least = std::max(least, bits_of(x) & 0x7fffffffu);
  const uint32_t exponent = std::min(least, 0x7f7fffffu) >> 23;
  if (exponent > 107 && exponent < 147) return 1.0f;
  return of_bits((254u - std::clamp(exponent, 1u, 253u)) << 23);
}
uint32_t near_root(float eps) { return (bits_of(eps) >> 1) + 0x1fc00000u; }

Floats Oracle::softmax(const Floats& x, int64_t n, float scale) const {
  constexpr float kHidden = -std::numeric_limits<float>::infinity();
  return by_rows(x, n, [&](Floats row) {
    bool nan = false;
    float largest = kHidden;
    for (float& v : row) {
      v = v == kHidden && scale > 0.0f ? kHidden : times(flush(v), scale);
      nan = nan || v != v;
      largest = v > largest ? v : largest;
    }
    if (largest == kHidden && !nan) return Floats(row.size(), 0.0f);
    if (nan) largest = std::numeric_limits<float>::quiet_NaN();
    for (float& v : row) v = v == kHidden ? 0.0f : exp(flush(v - largest));
    const float sum = row_sum(row), inverse = reciprocal(sum);
    for (float& v : row)
      v = v == 0.0f ? 0.0f : canonical(fault == Fault::DividedWeights ? v / sum : product_of(fault, v, inverse));
    return row;
  });
}

Floats Oracle::log_sum_exp(const Floats& x, int64_t n) const {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  return by_rows(x, n, [&](Floats row) {
    float largest = -kInfinity;
    bool nan = false;
    for (const float v : row) {
      nan = nan || v != v || v == kInfinity;
      largest = v > largest ? v : largest;
    }
    if (nan) return Floats{of_bits(0x7fc00000u)};
    if (largest == -kInfinity) return Floats{largest};
    for (float& v : row) v = v == -kInfinity ? 0.0f : exp(flush(v - largest));
    return Floats{canonical(largest + log(row_sum(row)))};
  });
}

Floats turned(const Floats& x, int64_t rows) {
  const int64_t columns = static_cast<int64_t>(x.size()) / rows;
  Floats result;
  for (int64_t c = 0; c < columns; ++c)
    for (int64_t r = 0; r < rows; ++r) result.push_back(x[static_cast<size_t>(r * columns + c)]);
  return result;
}

Floats Oracle::causal_scores(const Floats& q, const Floats& k, int64_t rows, float scale) const {
  Floats scores = product(q, turned(k, rows), {}, rows, rows, scale, Activation::None);
  for (int64_t i = 0; i < rows; ++i)
    std::fill(scores.begin() + i * rows + i + 1, scores.begin() + (i + 1) * rows,
              -std::numeric_limits<float>::infinity());
  return scores;
}

Floats Oracle::causal_attention(const Floats& q, const Floats& k, const Floats& v, int64_t rows, float scale) const {
  return product(softmax(causal_scores(q, k, rows, scale), rows, 1.0f), v, {}, rows,
                 static_cast<int64_t>(v.size()) / rows, 1.0f, Activation::None, Zeros::Skipped);
}

Floats Oracle::layernorm(const Floats& x, const Floats& gamma, const Floats& beta, int64_t n, float eps) const {
  return by_rows(x, n, [&](Floats row) {
    for (float& v : row) v = flush(v);
    Floats differences = row, summed;
    for (float& v : differences) v = flush(v - row[0]);
    for (const float v : differences) summed.push_back(on_grid(v));
    const float by = row_scale(differences, near_root(eps)), mean = plus(row[0], over(row_sum(summed), n));
    Floats deviations, squares;
    summed.clear();
    for (const float v : row) {
      const float deviation = times(flush(v - mean), by);
      deviations.push_back(deviation);
      summed.push_back(on_grid(deviation));
      squares.push_back(product_of(fault, coarse(deviation), coarse(deviation)));
    }
    const float rest = over(row_sum(summed), n);
    const float variance = std::max(flush(over(row_sum(squares), n) - times(rest, rest)), 0.0f);
    const float inverse = reciprocal_root(plus(variance, times(times(eps, by), by)));
    for (size_t i = 0; i < row.size(); ++i)
      row[i] = canonical(plus(times(times(flush(deviations[i] - rest), inverse), flush(gamma[i])), flush(beta[i])));
    return row;
  });
}

Floats Oracle::rmsnorm(const Floats& x, const Floats& gamma, int64_t n, float eps) const {
  return by_rows(x, n, [&](Floats row) {
    for (float& v : row) v = flush(v);
    const float by = row_scale(row, near_root(eps));
    Floats squares;
    for (const float v : row) squares.push_back(product_of(fault, coarse(times(v, by)), coarse(times(v, by))));
    const float inverse = reciprocal_root(plus(over(row_sum(squares), n), times(times(eps, by), by)));
    for (size_t i = 0; i < row.size(); ++i)
      row[i] = canonical(times(times(times(row[i], by), inverse), flush(gamma[i])));
    return row;
  });
}

Floats Oracle::l2_normalize(const Floats& x, int64_t n, float eps) const {
  return by_rows(x, n, [&](Floats row) {
    for (float& v : row) v = flush(v);
    const float by = row_scale(row, bits_of(eps)), least = times(eps, by);
    Floats squares;
    for (const float v : row) squares.push_back(product_of(fault, coarse(times(v, by)), coarse(times(v, by))));
    const float sum = row_sum(squares), inverse = reciprocal_root(sum);
    const float factor = times(sum, inverse) < least ? reciprocal(least) : inverse;
    for (float& v : row) v = canonical(times(times(v, by), factor));
    return row;
  });
}

Floats Oracle::mean(const Floats& x, int64_t n) const {
  const int64_t rows = static_cast<int64_t>(x.size()) / n;
  Floats out;
  for (int64_t column = 0; column < n; ++column) {
    float sums[4] = {};
    for (int64_t i = 0; i < rows; ++i) sums[i % 4] = sums[i % 4] + on_grid(x[static_cast<size_t>(i * n + column)]);
    const float sum = (sums[0] + sums[2]) + (sums[1] + sums[3]);
    out.push_back(canonical(over(sum, rows)));
  }
  return out;
}

float Oracle::reduce_column(Reduction kind, const Floats& values) const {
  const bool product = kind == Reduction::Product, powers = kind == Reduction::LogSumExp;
  float largest = powers ? -HUGE_VALF : 0.0f;
  for (const float v : values) largest = std::max(largest, powers ? v : std::fabs(v));
  const uint32_t exponent = std::clamp(bits_of(largest) >> 23 & 255u, 1u, 253u);
  float sums[4] = {};
  if (product) std::fill_n(sums, 4, 1.0f);
  for (size_t i = 0; i < values.size(); ++i) {
    float& sum = sums[i % 4];
    const float scaled = coarse(times(values[i], of_bits((254u - exponent) << 23)));
    if (product)
      sum = times(sum, values[i]);
    else
      sum = sum + (powers ? exp(flush(values[i] - largest)) : product_of(fault, scaled, scaled));
  }
  if (product) return times(times(sums[0], sums[2]), times(sums[1], sums[3]));
  const float sum = (sums[0] + sums[2]) + (sums[1] + sums[3]);
  return powers ? plus(largest, log(sum)) : times(root(sum), of_bits(exponent << 23));
}

Floats Oracle::reduce(Reduction kind, const Floats& x, int64_t n) const {
  const Floats columns = turned(x, static_cast<int64_t>(x.size()) / n);
  const auto rows = static_cast<ptrdiff_t>(x.size()) / n;
  Floats out;
  for (auto column = columns.begin(); column != columns.end(); column += rows) {
    Floats values;
    std::transform(column, column + rows, std::back_inserter(values), [&](float v) { return flush(v); });
    out.push_back(canonical(reduce_column(kind, values)));
  }
  return out;
}

Floats Oracle::cumsum(const Floats& x, int64_t n) const {
  constexpr int64_t kBlock = 128;
  return by_rows(x, n, [&](Floats row) {
    float before = 0.0f;
    for (int64_t first = 0; first < n; first += kBlock) {
      Floats sums(kBlock, 0.0f);
      const auto count = static_cast<size_t>(std::min(kBlock, n - first));
      float* const part = row.data() + first;
      for (size_t i = 0; i < count; ++i) sums[i] = on_grid(part[i]);
      for (size_t distance = 1; distance < kBlock; distance *= 2) {
        const Floats old = sums;
        for (size_t i = distance; i < kBlock; ++i) sums[i] = old[i] + old[i - distance];
      }
      for (size_t i = 0; i < count; ++i) part[i] = canonical(before + sums[i]);
      before = before + sums.back();
    }
    return row;
  });
}

Floats Oracle::add(const Floats& a, const Floats& b) const {
  Floats out;
  for (size_t i = 0; i < a.size(); ++i) out.push_back(canonical(flush(a[i]) + flush(b[i])));
  return out;
}
Floats Oracle::multiply(const Floats& a, const Floats& b) const {
  Floats out;
  for (size_t i = 0; i < a.size(); ++i) out.push_back(canonical(product_of(fault, flush(a[i]), flush(b[i]))));
  return out;
}

}  // namespace heed::reproducible

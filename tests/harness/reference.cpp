#include "harness/reference.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <iterator>
#include <limits>
#include <numbers>

namespace heed::ops {
namespace {

// splitmix64 (Steele, Lea, Flood 2014).
uint64_t hash(uint64_t x) {
  x += 0x9E3779B97F4A7C15u;
  x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9u;
  x = (x ^ (x >> 27)) * 0x94D049BB133111EBu;
  return x ^ (x >> 31);
}

// Distances between neighbours along each axis, in elements.
Sizes steps_of(const Sizes& shape) {
  Sizes steps(shape.size(), 1);
  for (size_t a = shape.size(); a-- > 1;) steps[a - 1] = steps[a] * shape[a];
  return steps;
}

// Applies f(value, bound, position) to all elements.
Array map(const Array& x, const std::function<void(double*, double*)>& f) {
  Array y = x;
  for (int64_t i = 0; i < y.size(); ++i) f(&y.at(i), &y.err(i));
  return y;
}

// y[i, j, ...] = x[begin + i steps[0] + j steps[1] + ...], with its bound.
Array gather(const Array& x, const Sizes& shape, const Sizes& steps, int64_t begin = 0) {
  Array y(shape);
  Sizes index(shape.size());
  int64_t from = begin;
  for (int64_t i = 0; i < y.size(); ++i) {
    y.at(i) = x.at(from);
    y.err(i) = x.err(from);
    for (size_t a = shape.size(); a-- > 0;) {
      from += steps[a];
      if (++index[a] < shape[a]) break;
      from -= shape[a] * steps[a];
      index[a] = 0;
    }
  }
  return y;
}

Sizes broadcast_shape(const Sizes& a, const Sizes& b) {
  Sizes shape(std::max(a.size(), b.size()), 1);
  for (size_t i = 0; i < shape.size(); ++i) {
    const int64_t da = i < a.size() ? a[a.size() - 1 - i] : 1, db = i < b.size() ? b[b.size() - 1 - i] : 1;
    shape[shape.size() - 1 - i] = std::max(da, db);
  }
  return shape;
}

}  // namespace

Array::Array(Sizes dims) : shape(std::move(dims)), value(static_cast<size_t>(count(shape))), bound(value.size()) {}

int64_t count(const Sizes& shape) {
  int64_t n = 1;
  for (const int64_t d : shape) n *= d;
  return n;
}

double half_value(uint16_t bits) {
  const int exponent = (bits >> 10) & 31, mantissa = bits & 1023;
  double magnitude;
  if (exponent == 31)
    magnitude = mantissa == 0 ? kInfinity : std::numeric_limits<double>::quiet_NaN();
  else if (exponent == 0)
    magnitude = std::ldexp(mantissa, -24);
  else
    magnitude = std::ldexp(1024 + mantissa, exponent - 25);
  return (bits & 0x8000) != 0 ? -magnitude : magnitude;
}

uint16_t half_bits(double x) {
  const uint16_t sign = std::signbit(x) ? 0x8000 : 0;
  const double magnitude = std::abs(x);
  if (std::isnan(x)) return static_cast<uint16_t>(sign | 0x7e00);
  if (magnitude == 0.0) return sign;
  if (magnitude >= 65520.0) return static_cast<uint16_t>(sign | 0x7c00);
  // Halves are 2^-24 apart below 2^-14, else 2^-10 of the leading power of two. nearbyint rounds ties to even.
  int exponent = 0;
  std::frexp(magnitude, &exponent);  // magnitude = f * 2^exponent, f in [1/2, 1)
  exponent = std::max(exponent, -13);
  const auto steps = static_cast<int>(std::nearbyint(std::ldexp(magnitude, 11 - exponent)));
  return static_cast<uint16_t>(sign | (((exponent + 13) << 10) + steps));
}

uint16_t bfloat_bits(double x) {
  if (std::isnan(x)) return 0x7fc0;
  int exponent = 0;
  std::frexp(x, &exponent);  // |x| = f * 2^exponent, f in [1/2, 1); below 2^-126 steps of 2^-133
  const int step = std::max(exponent - 8, -133);
  const auto rounded = static_cast<float>(std::ldexp(std::nearbyint(std::ldexp(x, -step)), step));
  uint32_t bits = 0;
  std::memcpy(&bits, &rounded, sizeof bits);
  return static_cast<uint16_t>(bits >> 16);
}

double bfloat_value(uint16_t bits) {
  const uint32_t wide = static_cast<uint32_t>(bits) << 16;
  float value = 0;
  std::memcpy(&value, &wide, sizeof value);
  return static_cast<double>(value);
}

double round_to(DType dtype, double x) {
  if (dtype == DType::F32) return static_cast<double>(static_cast<float>(x));
  if (dtype == DType::F16) return half_value(half_bits(x));
  if (dtype == DType::BF16) return bfloat_value(bfloat_bits(x));
  return x;
}

Array stored(DType dtype, Array x) {
  if (dtype != DType::F16 && dtype != DType::BF16) return x;
  const double unit = dtype == DType::F16 ? kHalfUnit : kBfloatUnit;
  // 2^-25: half a step of the subnormal halves. A device may also round a tie the other way.
  const double subnormal = dtype == DType::F16 ? 0x1p-24 : 0x1p-126;
  return map(x, [=](double* v, double* e) { *e += unit * (std::abs(*v) + *e) + subnormal; });
}

Array uniform(const Sizes& shape, uint64_t seed, double low, double high) {
  Array x(shape);
  for (int64_t i = 0; i < x.size(); ++i) {
    const double unit = static_cast<double>(hash(hash(seed) + static_cast<uint64_t>(i)) >> 11) * 0x1p-53;
    x.at(i) = low + (high - low) * unit;
  }
  return x;
}

Array filled(const Sizes& shape, double value) {
  Array x(shape);
  std::fill(x.value.begin(), x.value.end(), value);
  return x;
}

Array whole_numbers(const Sizes& shape, uint64_t seed, int64_t low, int64_t high) {
  return map(uniform(shape, seed, static_cast<double>(low), static_cast<double>(high)),
             [&](double* v, double*) { *v = std::min(std::floor(*v), static_cast<double>(high - 1)); });
}

Array values(const Sizes& shape, std::vector<double> list) {
  Array x(shape);
  x.value = std::move(list);
  return x;
}

// --- Layout ------------------------------------------------------------------------------------------------

Array reshape(Array x, const Sizes& shape) {
  x.shape = shape;
  return x;
}

Array permute(const Array& x, const std::vector<int>& axes) {
  const Sizes steps = steps_of(x.shape);
  Sizes shape, from;
  for (const int axis : axes) {
    shape.push_back(x.shape[static_cast<size_t>(axis)]);
    from.push_back(steps[static_cast<size_t>(axis)]);
  }
  return gather(x, shape, from);
}

Array slice(const Array& x, int axis, int64_t begin, int64_t size) {
  const Sizes steps = steps_of(x.shape);
  Sizes shape = x.shape;
  shape[static_cast<size_t>(axis)] = size;
  return gather(x, shape, steps, begin * steps[static_cast<size_t>(axis)]);
}

Array concat(const std::vector<Array>& parts, int axis) {
  const auto a = static_cast<size_t>(axis);
  Sizes shape = parts[0].shape;
  shape[a] = 0;
  for (const Array& part : parts) shape[a] += part.shape[a];
  Array y(shape);
  // For one index of the axes before `axis`, all elements of a part are contiguous.
  const int64_t step = steps_of(shape)[a], row = shape[a] * step;
  int64_t begin = 0;
  for (const Array& part : parts) {
    const int64_t together = part.shape[a] * step;
    for (int64_t i = 0; i < part.size(); ++i) {
      const int64_t target = i / together * row + begin + i % together;
      y.at(target) = part.at(i);
      y.err(target) = part.err(i);
    }
    begin += together;
  }
  return y;
}

Array broadcast(const Array& x, const Sizes& shape) {
  if (x.shape == shape) return x;
  const Sizes steps = steps_of(x.shape);
  const size_t before = shape.size() - x.shape.size();
  Sizes from(shape.size(), 0);
  for (size_t a = 0; a < x.shape.size(); ++a)
    if (x.shape[a] > 1) from[before + a] = steps[a];
  return gather(x, shape, from);
}

// --- Operations --------------------------------------------------------------------------------------------

Array add(const Array& a, const Array& b) {
  const Sizes shape = broadcast_shape(a.shape, b.shape);
  Array y = broadcast(a, shape);
  const Array other = broadcast(b, shape);
  for (int64_t i = 0; i < y.size(); ++i) {
    y.at(i) += other.at(i);
    y.err(i) += other.err(i);
    y.err(i) += kUnit * (std::abs(y.at(i)) + y.err(i));
  }
  return y;
}

Array mul(const Array& a, const Array& b) {
  const Sizes shape = broadcast_shape(a.shape, b.shape);
  Array y = broadcast(a, shape);
  const Array other = broadcast(b, shape);
  for (int64_t i = 0; i < y.size(); ++i) {
    const double ea = y.err(i), eb = other.err(i);
    y.err(i) = std::abs(y.at(i)) * eb + std::abs(other.at(i)) * ea + ea * eb;
    y.at(i) *= other.at(i);
    y.err(i) += kUnit * (std::abs(y.at(i)) + y.err(i));
  }
  return y;
}

Array scale(const Array& x, double factor) {
  return map(x, [&](double* v, double* e) {
    *v *= factor;
    *e = *e * std::abs(factor) + kUnit * std::abs(*v);
  });
}

Array activation(const Array& x, Activation kind) {
  return map(x, [&](double* v, double* e) {
    const double t = *v;
    // No slope exceeds 1.13. Own error: a few roundings of summands as large as x, where a sum such as 1 + erf cancels, and the
    // transcendental functions of a GPU (exp within 3 + 2|x| ulp by the Vulkan specification).
    double own = 0.0, slope = 1.13;
    switch (kind) {
      case Activation::None: return;
      case Activation::Relu:
        *v = std::max(t, 0.0);
        slope = 1.0;
        break;
      case Activation::GeluErf:
        *v = 0.5 * t * (1.0 + std::erf(t / std::sqrt(2.0)));
        own = 16.0 * std::abs(t);
        break;
      case Activation::GeluTanh:
        *v = 0.5 * t * (1.0 + std::tanh(std::sqrt(2.0 / std::numbers::pi) * (t + 0.044715 * t * t * t)));
        own = 16.0 * std::abs(t);
        break;
      case Activation::Silu:
        *v = t / (1.0 + std::exp(-t));
        own = 16.0 * std::abs(t);
        break;
      case Activation::Tanh:
        *v = std::tanh(t);
        slope = 1.0;
        own = 16.0;
        break;
    }
    *e = slope * *e + own * kUnit;
  });
}

Array limit_values(const Sizes& shape) {
  constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
  const double list[] = {kInfinity, -kInfinity, kNan, -kNan, 3e38, -3e38, 1e30, -1e30, 5000.0, -5000.0, 0.0, -0.0};
  Array x(shape);
  // Neighbours differ, and no value is at the same place in every group of four.
  for (int64_t i = 0; i < x.size(); ++i) x.at(i) = list[static_cast<size_t>(i % 13) % std::size(list)];
  return x;
}

Array activation_limits(const Array& x, Activation kind) {
  return map(x, [kind](double* v, double*) {
    if (std::isnan(*v)) return;
    if (kind == Activation::Tanh)
      *v = *v == 0.0 ? 0.0 : std::copysign(1.0, *v);
    else if (kind != Activation::None)
      *v = std::max(*v, 0.0);
  });
}

Array transposed(const Array& x) {
  std::vector<int> axes(x.shape.size());
  for (size_t i = 0; i < axes.size(); ++i) axes[i] = static_cast<int>(i);
  std::swap(axes[axes.size() - 1], axes[axes.size() - 2]);
  return permute(x, axes);
}

namespace {

// One matrix of the batch, at element offsets `ao`, `bo`, `yo`. A sum of K products in any order and with or without fused multiply-add is
// within K u of the sum of the products' magnitudes, to first order.
void multiply(const Array& a, int64_t ao, const Array& b, int64_t bo, double factor, Array* y, int64_t yo) {
  const int64_t rows = a.dim(1), k = a.dim(0), columns = b.dim(0);
  std::vector<double> sum(static_cast<size_t>(columns)), size(sum.size()), error(sum.size());
  for (int64_t i = 0; i < rows; ++i) {
    std::fill(sum.begin(), sum.end(), 0.0);
    std::fill(size.begin(), size.end(), 0.0);
    std::fill(error.begin(), error.end(), 0.0);
    for (int64_t p = 0; p < k; ++p) {
      const double left = a.at(ao + i * k + p), el = a.err(ao + i * k + p);
      for (int64_t j = 0; j < columns; ++j) {
        const auto c = static_cast<size_t>(j);
        const double right = b.at(bo + p * columns + j), er = b.err(bo + p * columns + j);
        sum[c] += left * right;
        size[c] += std::abs(left * right);
        error[c] += std::abs(left) * er + std::abs(right) * el + el * er;
      }
    }
    for (int64_t j = 0; j < columns; ++j) {
      const auto c = static_cast<size_t>(j);
      const double rounding = static_cast<double>(k + 2) * kUnit * (size[c] + error[c]);
      y->at(yo + i * columns + j) = factor * sum[c];
      y->err(yo + i * columns + j) = std::abs(factor) * (error[c] + rounding);
    }
  }
}

}  // namespace

Array matmul(const Array& a, const Array& b, double factor) {
  const int64_t rows = a.dim(1), k = a.dim(0), columns = b.dim(0);
  const Sizes batch_a(a.shape.begin(), a.shape.end() - 2), batch_b(b.shape.begin(), b.shape.end() - 2);
  const Sizes batch = broadcast_shape(batch_a, batch_b);
  const auto with = [](Sizes shape, int64_t r, int64_t c) {
    shape.push_back(r);
    shape.push_back(c);
    return shape;
  };
  const Array left = broadcast(a, with(batch, rows, k)), right = broadcast(b, with(batch, k, columns));
  Array y(with(batch, rows, columns));
  for (int64_t i = 0; i < count(batch); ++i)
    multiply(left, i * rows * k, right, i * k * columns, factor, &y, i * rows * columns);
  return y;
}

namespace {

// Radians per position, from the formulas in the papers (Su et al. 2021; Llama 3's by wavelengths).
double radians_per_position(const RotaryOptions& options, int64_t pair, int64_t width) {
  const double plain =
      1.0 / std::pow(static_cast<double>(options.base), 2.0 * static_cast<double>(pair) / static_cast<double>(width));
  const RotaryScaling& scaling = options.scaling;
  const auto factor = static_cast<double>(scaling.factor);
  if (scaling.kind == RotaryScaling::Kind::None) return plain;
  if (scaling.kind == RotaryScaling::Kind::Linear) return plain / factor;
  const double wavelength = 2.0 * std::numbers::pi / plain, length = static_cast<double>(scaling.trained_length);
  if (wavelength > length / static_cast<double>(scaling.low)) return plain / factor;
  if (wavelength < length / static_cast<double>(scaling.high)) return plain;
  const double smooth = (length / wavelength - static_cast<double>(scaling.low)) /
                        (static_cast<double>(scaling.high) - static_cast<double>(scaling.low));
  return (1.0 - smooth) * plain / factor + smooth * plain;
}

}  // namespace

Array rotary(const Array& x, const RotaryOptions& options, const Array* positions) {
  const int64_t n = x.dim(0), width = options.width == 0 ? n : options.width, length = x.dim(1);
  const Array given = positions == nullptr ? Array() : broadcast(*positions, Sizes(x.shape.begin(), x.shape.end() - 1));
  Array y = x;
  for (int64_t row = 0; row < x.size() / n; ++row) {
    const double position = positions == nullptr ? static_cast<double>(row % length) : given.at(row);
    for (int64_t i = 0; i < width / 2; ++i) {
      const bool halves = options.pairs == RotaryPairs::Halves;
      const int64_t first = row * n + (halves ? i : 2 * i), second = first + (halves ? width / 2 : 1);
      const double angle = position * radians_per_position(options, i, width);
      const double c = std::cos(angle), s = std::sin(angle), a = x.at(first), b = x.at(second);
      y.at(first) = a * c - b * s;
      y.at(second) = b * c + a * s;
      // Cosine and sine may be off by two units each, and each sum has three roundings.
      const double own = 8.0 * kUnit * (std::abs(a) + std::abs(b)), moved = x.err(first) + x.err(second);
      y.err(first) = y.err(second) = own + moved;
    }
  }
  return y;
}

Array rotary(const Array& x, RotaryPairs pairs, int64_t width, const Array& cos, const Array& sin) {
  const int64_t n = x.dim(0), own = cos.dim(0);
  Sizes shape = x.shape;
  shape.back() = own;
  const Array c = broadcast(cos, shape), s = broadcast(sin, shape);
  Array y = x;
  for (int64_t row = 0; row < x.size() / n; ++row)
    for (int64_t i = 0; i < width / 2; ++i) {
      const bool halves = pairs == RotaryPairs::Halves, whole = own == width;
      const int64_t first = halves ? i : 2 * i, second = halves ? i + width / 2 : 2 * i + 1;
      for (const auto& [element, other, sign] : {std::tuple{first, second, -1.0}, {second, first, 1.0}}) {
        const int64_t at = row * own + (whole ? element : i);
        const double a = x.at(row * n + element), b = x.at(row * n + other);
        y.at(row * n + element) = a * c.at(at) + sign * b * s.at(at);
        // Two products, their sum, and the value before them.
        y.err(row * n + element) = 4.0 * kUnit * (std::abs(a * c.at(at)) + std::abs(b * s.at(at))) +
                                   x.err(row * n + element) * std::abs(c.at(at)) + std::abs(a) * c.err(at) +
                                   x.err(row * n + other) * std::abs(s.at(at)) + std::abs(b) * s.err(at);
      }
    }
  return y;
}

Array argmax(const Array& x) {
  const int64_t n = x.dim(0);
  Array y(Sizes(x.shape.begin(), x.shape.end() - 1));
  for (int64_t row = 0; row < y.size(); ++row) {
    int64_t best = 0;
    for (int64_t i = 1; i < n; ++i)
      if (x.at(row * n + i) > x.at(row * n + best)) best = i;
    y.at(row) = static_cast<double>(best);
  }
  return y;
}

Array mean(const Array& x, int axis, const Array* mask, bool mask_keeps) {
  const auto a = static_cast<size_t>(axis);
  const int64_t n = x.shape[a];
  int64_t outer = 1, inner = 1;
  for (size_t i = 0; i < x.shape.size(); ++i) (i < a ? outer : inner) *= i == a ? 1 : x.shape[i];
  Sizes shape = x.shape;
  shape.erase(shape.begin() + axis);
  Array y(shape);
  for (int64_t o = 0; o < outer; ++o) {
    for (int64_t c = 0; c < inner; ++c) {
      double sum = 0.0, size = 0.0, error = 0.0;
      int64_t used = 0;
      for (int64_t i = 0; i < n; ++i) {
        if (mask != nullptr && (mask->at(o * n + i) != 0.0) != mask_keeps) continue;
        ++used;
        sum += x.at((o * n + i) * inner + c);
        size += std::abs(x.at((o * n + i) * inner + c));
        error += x.err((o * n + i) * inner + c);
      }
      if (used == 0) continue;
      y.at(o * inner + c) = sum / static_cast<double>(used);
      // Summands may be added one after the other in any order.
      const auto terms = static_cast<double>(used);
      y.err(o * inner + c) = (error + (terms + 4.0) * kUnit * (size + error)) / terms;
    }
  }
  return y;
}

Array embedding(const Array& table, const Array& ids) {
  const int64_t c = table.dim(0);
  Sizes shape = ids.shape;
  shape.push_back(c);
  Array y(shape);
  for (int64_t i = 0; i < ids.size(); ++i) {
    const auto id = static_cast<int64_t>(ids.at(i));
    if (id < 0 || id >= table.shape[0]) continue;  // zeros
    for (int64_t j = 0; j < c; ++j) {
      y.at(i * c + j) = table.at(id * c + j);
      y.err(i * c + j) = table.err(id * c + j);
    }
  }
  return y;
}

Array sinusoids(int64_t positions, int64_t channels) {
  Array y({positions, channels});
  for (int64_t p = 0; p < positions; ++p) {
    for (int64_t i = 0; i < channels; ++i) {
      const double angle =
          static_cast<double>(p) / std::pow(10000.0, static_cast<double>(i / 2 * 2) / static_cast<double>(channels));
      y.at(p * channels + i) = i % 2 == 0 ? std::sin(angle) : std::cos(angle);
      y.err(p * channels + i) = kUnit;
    }
  }
  return y;
}

// Ten rounds on (L0, R0, L1, R1), as in section 3.3 and figure 2 of Salmon et al., SC 2011.
std::array<uint32_t, 4> random_words(uint32_t seed, uint32_t stream, std::array<uint32_t, 4> counter) {
  auto [c0, c1, c2, c3] = counter;
  uint32_t k0 = seed, k1 = stream;
  for (int round = 0; round < 10; ++round) {
    const uint64_t first = 0xD2511F53ull * c0, second = 0xCD9E8D57ull * c2;
    const auto high0 = static_cast<uint32_t>(first >> 32), high1 = static_cast<uint32_t>(second >> 32);
    const uint32_t n0 = high1 ^ c1 ^ k0, n2 = high0 ^ c3 ^ k1;
    c1 = static_cast<uint32_t>(second);
    c3 = static_cast<uint32_t>(first);
    c0 = n0;
    c2 = n2;
    k0 += 0x9E3779B9u;
    k1 += 0xBB67AE85u;
  }
  return {c0, c1, c2, c3};
}

uint32_t random_word(uint32_t seed, uint32_t stream, uint64_t index) {
  const uint64_t block = index / 4;
  return random_words(seed, stream,
                      {static_cast<uint32_t>(block), static_cast<uint32_t>(block >> 32), 0, 0})[index % 4];
}

Array dropout(const Array& x, double p, uint32_t seed, uint32_t stream) {
  // p is given as f32. An element is dropped if its word, as a fraction of 2^32, is below p.
  const double exact = static_cast<double>(static_cast<float>(p));
  const double threshold = std::floor(exact * 4294967296.0 + 0.5);
  const double keep = static_cast<double>(static_cast<float>(1.0 / (1.0 - exact)));
  Array y = x;
  for (int64_t i = 0; i < y.size(); ++i) {
    if (static_cast<double>(random_word(seed, stream, static_cast<uint64_t>(i))) < threshold) {
      y.at(i) = 0.0;
      y.err(i) = 0.0;
    } else {
      y.at(i) *= keep;
      y.err(i) = y.err(i) * keep + kUnit * std::abs(y.at(i));
    }
  }
  return y;
}

}  // namespace heed::ops

#include "harness/trial.hpp"

#include <cmath>
#include <cstring>

#include "base/blocks.hpp"

namespace heed::ops {
namespace {

template <class T>
void append(std::vector<std::byte>* bytes, T value) {
  const auto* from = reinterpret_cast<const std::byte*>(&value);
  bytes->insert(bytes->end(), from, from + sizeof value);
}

std::vector<std::byte> encode(const Array& x, DType dtype) {
  std::vector<std::byte> bytes;
  for (const double v : x.value) {
    switch (dtype) {
      case DType::F32: append(&bytes, static_cast<float>(v)); break;
      case DType::F16: append(&bytes, half_bits(v)); break;
      case DType::I32: append(&bytes, static_cast<int32_t>(v)); break;
      case DType::U8: append(&bytes, static_cast<uint8_t>(v)); break;
      case DType::BF16: append(&bytes, bfloat_bits(v)); break;
      default: break;
    }
  }
  return bytes;
}

// Blocks of random bits, whose f16 scales give values up to about 1 of both signs; some values are 0 or subnormal.
std::vector<std::byte> random_blocks(DType type, int64_t elements, uint64_t seed) {
  const TypeBlock block = block_of(type);
  const int64_t count = elements / block.elements;
  std::vector<std::byte> bytes(static_cast<size_t>(count * block.bytes));
  const Array noise = whole_numbers({static_cast<int64_t>(bytes.size())}, seed, 0, 256);
  for (size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<std::byte>(noise.value[i]);
  const bool pairs = type == DType::Q4_K || type == DType::Q5_K,
             offset = pairs || type == DType::Q4_1 || type == DType::Q5_1;
  const double largest = type == DType::Q6_K ? 128.0 * 32.0 : pairs ? 63.0 * 31.0 : type == DType::Q8_0 ? 128.0 : 31.0;
  const Array scales = uniform({2 * count}, seed + 1);
  for (int64_t i = 0; i < 2 * count; ++i) {
    if (i % 2 == 1 && !offset) continue;
    const double size = i % 2 == 0 ? 1.0 / largest : pairs ? 1.0 / 63.0 : 1.0;
    const double value = i % 13 == 5 ? 0.0 : i % 17 == 3 ? 0x1p-20 : scales.at(i) * size;
    const uint16_t bits = half_bits(value);
    const int64_t at = i / 2 * block.bytes + (type == DType::Q6_K ? 208 : i % 2 * 2);
    std::memcpy(bytes.data() + at, &bits, sizeof bits);
  }
  return bytes;
}

Array rounded(const Array& x, DType dtype) {
  Array y = x;
  for (double& v : y.value) v = round_to(dtype, v);
  return y;
}

Array magnitudes(const Array& x) {
  Array y(x.shape);
  for (int64_t i = 0; i < x.size(); ++i) y.at(i) = std::abs(x.at(i));
  return y;
}

// The largest finite magnitude, and at least the magnitude that CompileOptions::emulate_f32 assumes.
double largest_of(const Array& x) {
  double largest = 0x1p-113;
  for (const double v : x.value)
    if (std::isfinite(v)) largest = std::max(largest, std::abs(v));
  return largest;
}

// The error of each element of rows by CompileOptions::round_rows, plus that of the weights if these are rounded, too.
Array rounding_errors(const Array& x, bool to_f16) {
  Array y = scale(magnitudes(x), 0x1p-9 * (1 + 0x1p-11));
  for (int64_t i = 0; !to_f16 && i < x.size(); ++i)
    for (int64_t k = i / 32 * 32; k < i / 32 * 32 + 32; ++k) y.at(i) = std::max(y.at(i), std::abs(x.at(k)) / 254);
  return y;
}

}  // namespace

Array Run::input(const std::string& name, const Array& values) { return input(name, values, dtype); }

Array Run::input(const std::string& name, const Array& values, DType type) {
  inputs.push_back({name, encode(values, type)});
  return rounded(values, type);
}

void Run::expect(const std::string& name, const Array& reference, double terms, int stores) {
  double nmse = 16.0 * kUnit * kUnit * (terms + 16.0);
  const double unit = dtype == DType::F16 ? kHalfUnit : dtype == DType::BF16 ? kBfloatUnit : 0.0;
  nmse += 2.0 * unit * unit * stores;
  if (rounds) nmse = INFINITY;
  expectations.push_back({name, dtype, ops::stored(dtype, reference), nmse, false});
}

void Run::expect_within(const std::string& name, const Array& reference, DType type) {
  expectations.push_back({name, type, reference, INFINITY, false});
}

void Run::expect_exact(const std::string& name, const Array& reference, DType type) {
  expectations.push_back({name, type, rounded(reference, type), 0.0, true});
}

Array Trial::product(const Array& a, const Array& b, double factor) const {
  Array y = matmul(a, b, factor);
  if (!options.round_rows && (!options.emulate_f32 || dtype != DType::F32)) return y;
  const Array errors = options.round_rows ? rounding_errors(a, rounds_to_f16) : scale(magnitudes(a), 0x1p-21);
  const double small = options.round_rows ? 0x1p-24 : 0x1p-38;
  const Array sums = matmul(errors, magnitudes(b), std::abs(factor));
  const double largest = std::abs(factor) * static_cast<double>(a.dim(0)) * largest_of(a) * largest_of(b);
  for (int64_t i = 0; i < y.size(); ++i) y.err(i) += sums.at(i) + small * largest + 0x1p-126;
  return y;
}

Tensor Trial::weight(const std::string& name, Array* values) { return weight(name, values, dtype); }

Tensor Trial::weight(const std::string& name, Array* values, DType type) {
  weights.push_back({name, values->shape, type, encode(*values, type)});
  *values = rounded(*values, type);
  return graph.weight(name, shape_of(values->shape), type);
}

Tensor Trial::blocks(const std::string& name, const Sizes& shape, DType type, uint64_t seed, Array* values) {
  *values = Array(shape);
  weights.push_back({name, shape, type, random_blocks(type, values->size(), seed)});
  std::vector<float> widened(values->value.size());
  widen_blocks(type, weights.back().bytes.data(), values->size() / block_of(type).elements, widened.data());
  std::copy(widened.begin(), widened.end(), values->value.begin());
  return graph.weight(name, shape_of(shape), type);
}

std::vector<HostTensor> Trial::host_weights() const {
  std::vector<HostTensor> tensors;
  for (const Weight& w : weights) tensors.push_back({w.name, w.dtype, w.shape, w.bytes});
  return tensors;
}

Run& Trial::run(std::vector<ExtentValue> extents) {
  Run& added = runs.emplace_back();
  added.extents = std::move(extents);
  added.dtype = dtype;
  added.rounds = options.round_rows;
  return added;
}

Shape shape_of(const Sizes& sizes) {
  Shape shape;
  for (const int64_t d : sizes) shape.push_back(d);
  return shape;
}

std::string text_of(const Sizes& sizes) {
  std::string text;
  for (const int64_t d : sizes) {
    if (!text.empty()) text += 'x';
    text += std::to_string(d);
  }
  return text;
}

}  // namespace heed::ops

#include "harness/trial.hpp"

#include <cmath>
#include <cstring>

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

Array rounded(const Array& x, DType dtype) {
  Array y = x;
  for (double& v : y.value) v = round_to(dtype, v);
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
  expectations.push_back({name, dtype, ops::stored(dtype, reference), nmse, false});
}

void Run::expect_within(const std::string& name, const Array& reference, DType type) {
  expectations.push_back({name, type, reference, INFINITY, false});
}

void Run::expect_exact(const std::string& name, const Array& reference, DType type) {
  expectations.push_back({name, type, rounded(reference, type), 0.0, true});
}

Tensor Trial::weight(const std::string& name, Array* values) { return weight(name, values, dtype); }

Tensor Trial::weight(const std::string& name, Array* values, DType type) {
  weights.push_back({name, values->shape, type, encode(*values, type)});
  *values = rounded(*values, type);
  return graph.weight(name, shape_of(values->shape), type);
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

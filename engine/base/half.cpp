#include "base/half.hpp"

#include <cstring>

namespace heed {
namespace {

float load(const std::byte* at, DType type) {
  if (type == DType::F32) {
    float value;
    std::memcpy(&value, at, sizeof value);
    return value;
  }
  uint16_t bits;
  std::memcpy(&bits, at, sizeof bits);
  return type == DType::F16 ? half_to_float(bits) : bfloat_to_float(bits);
}

void store(std::byte* at, DType type, float value) {
  if (type == DType::F32) {
    std::memcpy(at, &value, sizeof value);
    return;
  }
  const uint16_t bits = type == DType::F16 ? float_to_half(value) : float_to_bfloat(value);
  std::memcpy(at, &bits, sizeof bits);
}

}  // namespace

void convert_floats(const void* from, DType from_type, void* to, DType to_type, size_t count) {
  const auto* source = static_cast<const std::byte*>(from);
  auto* target = static_cast<std::byte*>(to);
  if (from_type == to_type) {
    std::memcpy(target, source, count * size_of(from_type));
    return;
  }
  for (size_t i = 0; i < count; ++i)
    store(target + i * size_of(to_type), to_type, load(source + i * size_of(from_type), from_type));
}

}  // namespace heed

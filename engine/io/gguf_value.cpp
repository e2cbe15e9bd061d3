// Values of a GGUF file's metadata, which the parser has checked to lie inside the file.
#include <cmath>

#include "base/logging.hpp"
#include "io/gguf_numbers.hpp"
#include "io/safetensors_header.hpp"

namespace heed {

namespace {

using ValueType = Gguf::ValueType;

std::optional<int64_t> integer_at(ValueType type, const std::byte* data) {
  switch (type) {
    case ValueType::U8: return load_number<uint8_t>(data);
    case ValueType::I8: return load_number<int8_t>(data);
    case ValueType::U16: return load_number<uint16_t>(data);
    case ValueType::I16: return load_number<int16_t>(data);
    case ValueType::U32: return load_number<uint32_t>(data);
    case ValueType::I32: return load_number<int32_t>(data);
    case ValueType::I64: return load_number<int64_t>(data);
    case ValueType::U64: {
      const uint64_t number = load_number<uint64_t>(data);
      if (number > static_cast<uint64_t>(INT64_MAX)) return {};
      return static_cast<int64_t>(number);
    }
    default: return {};
  }
}

std::optional<double> number_at(ValueType type, const std::byte* data) {
  if (type == ValueType::F32) return static_cast<double>(load_number<float>(data));
  if (type == ValueType::F64) return load_number<double>(data);
  if (type == ValueType::U64) return static_cast<double>(load_number<uint64_t>(data));
  const std::optional<int64_t> whole = integer_at(type, data);
  if (!whole) return {};
  return static_cast<double>(*whole);
}

std::string_view text_at(const std::byte* data) {
  return {reinterpret_cast<const char*>(data + 8), static_cast<size_t>(load_number<uint64_t>(data))};
}

// Fills *values with one(element type, address) of each element; returns false if that fails for one.
template <class T, class One>
bool read_numbers(ValueType element, const std::byte* data, size_t size, std::vector<T>* values, One one) {
  const uint64_t step = number_bytes(element);
  if (values == nullptr || step == 0) return false;
  std::vector<T> fresh(size);
  for (size_t i = 0; i < size; ++i) {
    const std::optional<T> value = one(element, data + i * step);
    if (!value) return false;
    fresh[i] = *value;
  }
  *values = std::move(fresh);
  return true;
}

std::optional<int32_t> small_integer_at(ValueType type, const std::byte* data) {
  const std::optional<int64_t> whole = integer_at(type, data);
  if (!whole || *whole < INT32_MIN || *whole > INT32_MAX) return {};
  return static_cast<int32_t>(*whole);
}

std::optional<float> float_at(ValueType type, const std::byte* data) {
  const std::optional<double> number = number_at(type, data);
  if (!number) return {};
  return static_cast<float>(*number);
}

}  // namespace

std::optional<int64_t> Gguf::Value::integer() const {
  if (!there()) return {};
  return integer_at(type_, data_);
}

std::optional<double> Gguf::Value::number() const {
  if (!there()) return {};
  return number_at(type_, data_);
}

std::optional<bool> Gguf::Value::boolean() const {
  if (!there() || type_ != ValueType::Bool) return {};
  return *data_ != std::byte{0};
}

std::optional<std::string_view> Gguf::Value::text() const {
  if (!there() || type_ != ValueType::Text) return {};
  return text_at(data_);
}

bool Gguf::Value::read(std::vector<std::string_view>* values) const {
  if (values == nullptr || !there() || type_ != ValueType::Array || element_ != ValueType::Text) return false;
  values->clear();
  values->reserve(size_);
  const std::byte* at = data_;
  for (size_t i = 0; i < size_; ++i) {
    values->push_back(text_at(at));
    at += 8 + values->back().size();
  }
  return true;
}

bool Gguf::Value::read(std::vector<int64_t>* values) const {
  return there() && type_ == ValueType::Array && read_numbers(element_, data_, size_, values, integer_at);
}
bool Gguf::Value::read(std::vector<int32_t>* values) const {
  return there() && type_ == ValueType::Array && read_numbers(element_, data_, size_, values, small_integer_at);
}
bool Gguf::Value::read(std::vector<float>* values) const {
  return there() && type_ == ValueType::Array && read_numbers(element_, data_, size_, values, float_at);
}

std::string Gguf::Value::shown() const {
  if (!there()) return "absent";
  switch (type_) {
    case ValueType::Text: return format("'%s'", printable(text_at(data_)).c_str());
    case ValueType::Bool: return *boolean() ? "true" : "false";
    case ValueType::Array: return format("an array of %zu %s", size_, to_string(element_));
    case ValueType::F32:
    case ValueType::F64: return format("%g", *number());
    case ValueType::U64: return format("%llu", static_cast<unsigned long long>(load_number<uint64_t>(data_)));
    default: return format("%lld", static_cast<long long>(*integer()));
  }
}

const char* to_string(Gguf::ValueType type) {
  static constexpr const char* kNames[] = {"u8",   "i8",   "u16",   "i16", "u32", "i32", "f32",
                                           "bool", "text", "array", "u64", "i64", "f64"};
  return type <= ValueType::F64 ? kNames[static_cast<size_t>(type)] : "?";
}

}  // namespace heed

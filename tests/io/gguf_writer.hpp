// Writes GGUF files, valid and invalid: each number is written as given.
#pragma once

#include <cstring>
#include <string>
#include <string_view>
#include <vector>

#include <heed/gguf.hpp>

namespace heed::test {

class GgufWriter {
 public:
  using Type = Gguf::ValueType;

  uint32_t version = 3;
  uint64_t alignment = 32;
  // If these are set, they are written instead of the right counts.
  std::optional<uint64_t> tensor_count, field_count;

  template <class T>
  static std::string bytes_of(T number) {
    std::string bytes(sizeof(T), '\0');
    std::memcpy(bytes.data(), &number, sizeof number);
    return bytes;
  }
  static std::string text_of(std::string_view text) { return bytes_of(uint64_t{text.size()}) += text; }

  // A key with a value whose bytes are given.
  GgufWriter& raw(std::string_view key, uint32_t type, std::string_view value) {
    fields_ += text_of(key) + bytes_of(type);
    fields_ += value;
    ++fields_written_;
    return *this;
  }
  template <class T>
  GgufWriter& number(std::string_view key, Type type, T value) {
    return raw(key, static_cast<uint32_t>(type), bytes_of(value));
  }
  GgufWriter& u32(std::string_view key, uint32_t value) { return number(key, Type::U32, value); }
  GgufWriter& f32(std::string_view key, float value) { return number(key, Type::F32, value); }
  GgufWriter& flag(std::string_view key, bool value) { return number(key, Type::Bool, static_cast<uint8_t>(value)); }
  GgufWriter& text(std::string_view key, std::string_view value) {
    return raw(key, static_cast<uint32_t>(Type::Text), text_of(value));
  }
  GgufWriter& texts(std::string_view key, const std::vector<std::string>& values) {
    std::string bytes = bytes_of(static_cast<uint32_t>(Type::Text)) + bytes_of(uint64_t{values.size()});
    for (const std::string& value : values) bytes += text_of(value);
    return raw(key, static_cast<uint32_t>(Type::Array), bytes);
  }
  template <class T>
  GgufWriter& numbers(std::string_view key, Type element, const std::vector<T>& values) {
    std::string bytes = bytes_of(static_cast<uint32_t>(element)) + bytes_of(uint64_t{values.size()});
    for (const T value : values) bytes += bytes_of(value);
    return raw(key, static_cast<uint32_t>(Type::Array), bytes);
  }

  // `shape` is outermost first. The default offset is the next free one.
  GgufWriter& tensor(std::string_view name, uint32_t type, const std::vector<uint64_t>& shape, std::string_view data,
                     std::optional<uint64_t> offset = {}) {
    data_.resize((data_.size() + alignment - 1) / alignment * alignment);
    tensors_ += text_of(name) + bytes_of(static_cast<uint32_t>(shape.size()));
    for (size_t i = shape.size(); i-- > 0;) tensors_ += bytes_of(shape[i]);
    tensors_ += bytes_of(type) + bytes_of(offset.value_or(data_.size()));
    data_ += data;
    ++tensors_written_;
    return *this;
  }

  std::string file() const {
    std::string bytes = "GGUF" + bytes_of(version) + bytes_of(tensor_count.value_or(tensors_written_)) +
                        bytes_of(field_count.value_or(fields_written_)) + fields_ + tensors_;
    if (tensors_written_ > 0) bytes.resize((bytes.size() + alignment - 1) / alignment * alignment);
    return bytes + data_;
  }

 private:
  std::string fields_, tensors_, data_;
  uint64_t fields_written_ = 0, tensors_written_ = 0;
};

}  // namespace heed::test

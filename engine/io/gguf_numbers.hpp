// Little-endian numbers of GGUF files, at any address.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include <heed/gguf.hpp>

namespace heed {

template <class T>
T load_number(const std::byte* bytes) {
  if constexpr (std::is_floating_point_v<T>) {
    return std::bit_cast<T>(load_number<std::conditional_t<sizeof(T) == 4, uint32_t, uint64_t>>(bytes));
  } else {
    std::make_unsigned_t<T> number = 0;
    for (size_t i = 0; i < sizeof(T); ++i)
      number = static_cast<std::make_unsigned_t<T>>(number | static_cast<uint64_t>(bytes[i]) << (8 * i));
    return static_cast<T>(number);
  }
}

// Bytes of a number or bool; 0 for texts and arrays.
constexpr uint64_t number_bytes(Gguf::ValueType type) {
  switch (type) {
    case Gguf::ValueType::U8:
    case Gguf::ValueType::I8:
    case Gguf::ValueType::Bool: return 1;
    case Gguf::ValueType::U16:
    case Gguf::ValueType::I16: return 2;
    case Gguf::ValueType::U32:
    case Gguf::ValueType::I32:
    case Gguf::ValueType::F32: return 4;
    case Gguf::ValueType::U64:
    case Gguf::ValueType::I64:
    case Gguf::ValueType::F64: return 8;
    case Gguf::ValueType::Text:
    case Gguf::ValueType::Array: return 0;
  }
  return 0;
}

}  // namespace heed

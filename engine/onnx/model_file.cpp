#include "onnx/model_file.hpp"

#include <algorithm>
#include <array>
#include <cstdio>

namespace heed::onnx {

const char* to_string(ElementType type) {
  static constexpr std::array<const char*, 29> kNames = {
      "undefined",      "float",      "uint8",          "int8",       "uint16",    "int16",
      "int32",          "int64",      "string",         "bool",       "float16",   "double",
      "uint32",         "uint64",     "complex64",      "complex128", "bfloat16",  "float8e4m3fn",
      "float8e4m3fnuz", "float8e5m2", "float8e5m2fnuz", "uint4",      "int4",      "float4e2m1",
      "float8e8m0",     "uint2",      "int2",           "float6e2m3", "float6e3m2"};
  const auto number = static_cast<int32_t>(type);
  if (number >= 0 && static_cast<size_t>(number) < kNames.size()) return kNames[static_cast<size_t>(number)];
  static thread_local char text[24];
  std::snprintf(text, sizeof text, "a type %d", number);
  return text;
}

size_t bytes_of_element(ElementType type) {
  switch (type) {
    case ElementType::U8:
    case ElementType::I8:
    case ElementType::Bool: return 1;
    case ElementType::U16:
    case ElementType::I16:
    case ElementType::F16:
    case ElementType::BF16: return 2;
    case ElementType::F32:
    case ElementType::I32:
    case ElementType::U32: return 4;
    case ElementType::I64:
    case ElementType::F64:
    case ElementType::U64: return 8;
    case ElementType::Undefined:
    case ElementType::String: return 0;
  }
  return 0;  // types of the standard without an enumerator here
}

int64_t FileTensor::elements() const {
  int64_t product = std::find(dims.begin(), dims.end(), 0) == dims.end() ? 1 : 0;
  for (const int64_t size : dims) product = product == 0 ? 0 : product * size;
  return product;
}

const FileAttribute* FileNode::find(std::string_view attribute) const {
  const auto found = std::find_if(attributes.begin(), attributes.end(),
                                  [&](const FileAttribute& one) { return one.name == attribute; });
  return found == attributes.end() ? nullptr : &*found;
}

}  // namespace heed::onnx

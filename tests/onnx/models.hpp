// Writes ONNX files, valid and invalid: fields with the numbers of onnx.proto.
#pragma once

#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <protozero/pbf_writer.hpp>

#include "onnx/model_file.hpp"

namespace heed::test {

// A protobuf message. The alias names the standard's message.
class Proto {
 public:
  Proto& text(uint32_t field, std::string_view value) {
    protozero::pbf_writer(bytes_).add_bytes(field, value.data(), value.size());
    return *this;
  }
  Proto& texts(uint32_t field, std::initializer_list<std::string_view> values) {
    for (const std::string_view value : values) text(field, value);
    return *this;
  }
  Proto& integer(uint32_t field, int64_t value) {
    protozero::pbf_writer(bytes_).add_int64(field, value);
    return *this;
  }
  Proto& number(uint32_t field, float value) {
    protozero::pbf_writer(bytes_).add_float(field, value);
    return *this;
  }
  Proto& number(uint32_t field, double value) {
    protozero::pbf_writer(bytes_).add_double(field, value);
    return *this;
  }
  template <class T>
  Proto& numbers(uint32_t field, const std::vector<T>& values) {
    for (const T value : values) number(field, value);
    return *this;
  }
  Proto& integers(uint32_t field, const std::vector<int64_t>& values) {
    for (const int64_t value : values) integer(field, value);
    return *this;
  }
  Proto& packed(uint32_t field, const std::vector<int64_t>& values) {
    protozero::pbf_writer(bytes_).add_packed_int64(field, values.begin(), values.end());
    return *this;
  }
  Proto& packed(uint32_t field, const std::vector<float>& values) {
    protozero::pbf_writer(bytes_).add_packed_float(field, values.begin(), values.end());
    return *this;
  }
  Proto& packed(uint32_t field, const std::vector<double>& values) {
    protozero::pbf_writer(bytes_).add_packed_double(field, values.begin(), values.end());
    return *this;
  }
  Proto& message(uint32_t field, const Proto& value) { return text(field, value.bytes()); }
  Proto& raw(std::string_view bytes) {
    bytes_ += bytes;
    return *this;
  }
  const std::string& bytes() const { return bytes_; }

 private:
  std::string bytes_;
};

using onnx::ElementType;

inline Proto tensor_proto(std::string_view name, ElementType type, const std::vector<int64_t>& dims) {
  Proto tensor;
  return tensor.integers(1, dims).integer(2, static_cast<int64_t>(type)).text(8, name);
}
inline Proto pair_proto(std::string_view key, std::string_view value) { return Proto().text(1, key).text(2, value); }
// A tensor whose values are in an external file.
inline Proto elsewhere_proto(std::string_view location, std::string_view offset, std::string_view length,
                             const std::vector<int64_t>& dims = {3}) {
  Proto tensor = tensor_proto("w", ElementType::F32, dims);
  tensor.message(13, pair_proto("location", location)).integer(14, 1);
  if (!offset.empty()) tensor.message(13, pair_proto("offset", offset));
  if (!length.empty()) tensor.message(13, pair_proto("length", length));
  return tensor;
}

inline Proto attribute_proto(std::string_view name, int64_t type) { return Proto().text(1, name).integer(20, type); }
inline Proto node_proto(std::string_view name, std::string_view op, std::initializer_list<std::string_view> inputs,
                        std::initializer_list<std::string_view> outputs) {
  return Proto().texts(1, inputs).texts(2, outputs).text(3, name).text(4, op);
}

// A size is a number or a symbol.
inline Proto value_proto(std::string_view name, ElementType type, std::initializer_list<const char*> sizes) {
  Proto shape, tensor;
  for (const std::string_view size : sizes) {
    const bool is_number = size.find_first_not_of("-0123456789") == size.npos;
    shape.message(1, is_number ? Proto().integer(1, std::stoll(std::string(size))) : Proto().text(2, size));
  }
  tensor.integer(1, static_cast<int64_t>(type)).message(2, shape);
  return Proto().text(1, name).message(2, Proto().message(1, tensor));
}

// A model with this graph, of opset 17.
inline Proto model_proto(const Proto& graph) {
  return Proto().integer(1, 8).text(2, "heed").message(7, graph).message(8, Proto().text(1, "").integer(2, 17));
}
// A model with this single initializer.
inline Proto model_of(const Proto& tensor) { return model_proto(Proto().text(2, "g").message(5, tensor)); }

struct ModelRead {
  std::vector<std::byte> bytes;  // kept alive for `model`; its size is exact, so that sanitizers detect overruns
  onnx::ModelFile model;
  Status status = Status::Ok;
  std::vector<std::string> messages;
};

inline ModelRead read_onnx(std::string_view text, std::string_view folder = "") {
  ModelRead r;
  const std::span<const std::byte> bytes = std::as_bytes(std::span(text));
  r.bytes.assign(bytes.begin(), bytes.end());
  const auto callback = [](void* user, LogLevel, const char* message) {
    static_cast<std::vector<std::string>*>(user)->emplace_back(message);
  };
  r.status = onnx::read_model(r.bytes, "memory", folder, {callback, &r.messages, LogLevel::Warning}, &r.model);
  return r;
}
inline ModelRead read_onnx(const Proto& model, std::string_view folder = "") {
  return read_onnx(model.bytes(), folder);
}

}  // namespace heed::test

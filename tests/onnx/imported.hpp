// Models with their imported graphs.
#pragma once

#include <memory>

#include <heed/onnx.hpp>

#include "harness/setup.hpp"
#include "hostile/hostile.hpp"
#include "onnx/models.hpp"

namespace heed::test {

inline Proto floats_proto(std::string_view name, const std::vector<int64_t>& dims, const std::vector<float>& values) {
  return tensor_proto(name, ElementType::F32, dims)
      .text(9, {reinterpret_cast<const char*>(values.data()), 4 * values.size()});
}
inline Proto integers_proto(std::string_view name, const std::vector<int64_t>& dims,
                            const std::vector<int64_t>& values) {
  return tensor_proto(name, ElementType::I64, dims)
      .text(9, {reinterpret_cast<const char*>(values.data()), 8 * values.size()});
}
// A node with integer attributes.
inline Proto with(Proto node, std::string_view name, int64_t value) {
  return node.message(5, attribute_proto(name, 2).integer(3, value));
}
inline Proto with(Proto node, std::string_view name, const std::vector<int64_t>& values) {
  return node.message(5, attribute_proto(name, 7).integers(8, values));
}

struct Imported {
  std::string bytes;
  Messages messages;
  OnnxModel model;
  Graph graph;
  Status status = Status::Ok;
};

inline std::unique_ptr<Imported> imported(const Proto& model, const OnnxOptions& options) {
  auto made = std::make_unique<Imported>();
  made->bytes = model.bytes();
  made->status = OnnxModel::parse(std::as_bytes(std::span(made->bytes)), "memory", made->messages.log(), &made->model);
  if (made->status == Status::Ok) made->status = made->model.build(options, made->messages.log(), &made->graph);
  return made;
}

// Changes a few bytes of a file. Returns whether it still imports; otherwise the log must have one line with the reason.
inline bool builds_changed(std::string bytes, ops::Random& r, bool has_states) {
  for (int64_t edits = 1 + r.below(2); edits > 0; --edits) {
    const auto at = static_cast<size_t>(r.below(static_cast<int64_t>(bytes.size())));
    bytes[at] = r.coin() ? static_cast<char>(r.next()) : static_cast<char>(bytes[at] ^ (1 << r.below(8)));
  }
  OnnxModel model;
  Graph graph;
  Messages messages;
  if (OnnxModel::parse(std::as_bytes(std::span(bytes)), "memory", messages.log(), &model) != Status::Ok) return false;
  OnnxOptions options = {.largest = 16};
  if (has_states) options.states = model.states();
  const Status status = model.build(options, messages.log(), &graph);
  CHECK(messages.count() == (status == Status::Ok ? 0 : 1));
  return status == Status::Ok;
}

}  // namespace heed::test

// An ONNX file as it was read, before anything is known of its operators.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <heed/status.hpp>

namespace heed::onnx {

// TensorProto.DataType of the standard.
enum class ElementType : int32_t {
  Undefined = 0,
  F32 = 1,
  U8 = 2,
  I8 = 3,
  U16 = 4,
  I16 = 5,
  I32 = 6,
  I64 = 7,
  String = 8,
  Bool = 9,
  F16 = 10,
  F64 = 11,
  U32 = 12,
  U64 = 13,
  BF16 = 16,
};
const char* to_string(ElementType type);    // "float", "int64", ... as the standard spells it; "a type N" for others
size_t bytes_of_element(ElementType type);  // 0: of no fixed size, or not known

// A tensor's values, little-endian and row-major, at any address, of as many bytes as its type and dims say. They lie in the file, in a
// file beside it, or in memory that the copies of this object share. Strings, and types of which bytes_of_element is 0, have no
// data; sparse tensors have no type either. A bool is 0 or 1.
struct FileTensor {
  std::string name;
  ElementType type = ElementType::Undefined;
  std::vector<int64_t> dims;  // each 0 or more, 64 at most; empty: a scalar. Their product fits 63 bits
  std::span<const std::byte> data;
  std::shared_ptr<const void> keeps;  // what `data` lies in, unless that is the file

  int64_t elements() const;  // 1 for a scalar
};

struct FileGraph;

struct FileAttribute {
  enum class Kind : uint8_t { Float, Int, String, Tensor, Graph, Floats, Ints, Strings, Other };
  std::string name;
  Kind kind = Kind::Other;
  std::string reference;  // in a function: the attribute of the function's node that this one is
  float number = 0;
  int64_t integer = 0;
  std::string text;
  FileTensor tensor;
  std::shared_ptr<const FileGraph> graph;
  std::vector<float> numbers;
  std::vector<int64_t> integers;
  std::vector<std::string> texts;
};

struct FileNode {
  std::string name, op, domain;              // domain: empty for "ai.onnx"
  std::vector<std::string> inputs, outputs;  // an empty name: an optional one that is absent
  std::vector<FileAttribute> attributes;

  const FileAttribute* find(std::string_view attribute) const;
};

struct FileDim {
  std::string symbol;  // empty if the size is known, or if nothing is
  int64_t size = -1;   // -1: not known
};

struct FileValue {
  std::string name;
  ElementType type = ElementType::Undefined;  // Undefined also for what is no tensor
  bool has_shape = false;
  std::vector<FileDim> dims;
};

struct FileGraph {
  std::string name;
  std::vector<FileNode> nodes;  // each behind those that make what it reads
  std::vector<FileTensor> initializers;
  std::vector<FileValue> inputs, outputs;  // inputs may be among the initializers, which are their defaults
};

struct FileOpset {
  std::string domain;  // empty for "ai.onnx"
  int64_t version = 0;
};

struct FileFunction {
  std::string name, domain;
  std::vector<std::string> inputs, outputs, attributes;
  std::vector<FileAttribute> defaults;  // of attributes
  std::vector<FileNode> nodes;
  std::vector<FileOpset> opsets;
};

struct ModelFile {
  std::vector<FileOpset> opsets;
  std::string producer;
  FileGraph graph;
  std::vector<FileFunction> functions;
};

// Reads a model; its data lie in `bytes`, which the caller keeps. `name` stands for the file in messages. Files that tensors' values lie
// in are looked for in `folder` ("." is the current one; empty: there are none); none is read outside of it, except by links in it.
// InvalidFile: what the message says, with the place in the file or the name of the node or tensor. NotFound: a file beside it is
// missing. Unsupported: parts of tensors, and functions of one name. A failure leaves *model as it was.
//
// Of a model that was read, names are made once in each graph (an initializer may be an input's default), nodes are in order, graphs
// in attributes are nested at most 8 deep, references are to attributes that their function has, and at least one opset is named.
//
// Allocates at most 64 times the bytes of the file, less those of weights, which stay where they are. A file has less than 2 GiB.
Status read_model(std::span<const std::byte> bytes, std::string_view name, std::string_view folder, const Log& log,
                  ModelFile* model);

}  // namespace heed::onnx

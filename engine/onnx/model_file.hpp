// The contents of an ONNX file, before its operators are interpreted.
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

// TensorProto.DataType of the ONNX standard.
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
size_t bytes_of_element(ElementType type);  // 0: variable size, or unknown

// A tensor's values, little-endian and row-major, at any address, of as many bytes as its type and dims say. They are in the file, in an
// external file, or in memory that copies of this object share. Strings, and types for which bytes_of_element is 0, have no data; sparse
// tensors have no type either. A bool is 0 or 1.
struct FileTensor {
  std::string name;
  ElementType type = ElementType::Undefined;
  std::vector<int64_t> dims;  // each >= 0, at most 64 of them; empty: a scalar. Their product fits 63 bits
  std::span<const std::byte> data;
  std::shared_ptr<const void> keeps;  // owns the memory of `data`, unless that is the file

  int64_t elements() const;  // 1 for a scalar
};

struct FileGraph;

struct FileAttribute {
  enum class Kind : uint8_t { Float, Int, String, Tensor, Graph, Floats, Ints, Strings, Other };
  std::string name;
  Kind kind = Kind::Other;
  std::string reference;  // in a function: the attribute of the calling node that this one refers to
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
  std::vector<std::string> inputs, outputs;  // an empty name: an absent optional one
  std::vector<FileAttribute> attributes;

  const FileAttribute* find(std::string_view attribute) const;
};

struct FileDim {
  std::string symbol;  // empty if the size is known, or nothing is known
  int64_t size = -1;   // -1: not known
};

struct FileValue {
  std::string name;
  ElementType type = ElementType::Undefined;  // Undefined also for values that are no tensors
  bool has_shape = false;
  std::vector<FileDim> dims;
};

struct FileGraph {
  std::string name;
  std::vector<FileNode> nodes;  // topologically sorted
  std::vector<FileTensor> initializers;
  std::vector<FileValue> inputs, outputs;  // an input may also be an initializer, which is its default
};

struct FileOpset {
  std::string domain;  // empty for "ai.onnx"
  int64_t version = 0;
};

struct FileFunction {
  std::string name, domain;
  std::vector<std::string> inputs, outputs, attributes;
  std::vector<FileAttribute> defaults;  // default values of attributes
  std::vector<FileNode> nodes;
  std::vector<FileOpset> opsets;
};

struct ModelFile {
  std::vector<FileOpset> opsets;
  std::string producer;
  FileGraph graph;
  std::vector<FileFunction> functions;
};

// Reads a model; its data lie in `bytes`, which the caller keeps. `name` stands for the file in messages. External files with values of
// tensors are searched for in `folder` ("." is the current one; empty: none are allowed); files outside of it are not read, except through
// links in it. InvalidFile: the message has the error, and the offset in the file or the name of the node or tensor. NotFound: an external
// file is missing. Unsupported: parts of tensors, and functions with equal names. On failure *model is unchanged.
//
// Guarantees for a model that was read: each name is defined once in each graph (an initializer may be an input's default), nodes are
// topologically sorted, graphs in attributes are nested at most 8 deep, references are to existing attributes of the function, and there is
// at least one opset.
//
// Allocates at most 64 times the bytes of the file without its weights, which are not copied. A file has less than 2 GiB.
Status read_model(std::span<const std::byte> bytes, std::string_view name, std::string_view folder, const Log& log,
                  ModelFile* model);

}  // namespace heed::onnx

// Inputs and outputs of ONNX nodes during the import: tensors of the graph, and numbers that are already known, such as shapes, axes and
// tables.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <heed/graph.hpp>

#include "onnx/model_file.hpp"

namespace heed::onnx {

// A known number: a constant, or a size that Graph computes at each run. Constants of all types are doubles; INT64_MAX and INT64_MIN, which
// mean "the end", become the nearest double.
struct Number {
  double value = 0;
  Dim size = {};  // used if it is not a constant

  Number() = default;
  Number(double constant) : value(constant) {}
  explicit Number(const Dim& dim) : value(static_cast<double>(dim.value)), size(dim) {}
  bool is_size() const { return !size.is_constant(); }
  bool is(double constant) const { return !is_size() && value == constant; }
  int64_t whole() const;  // the constant, truncated and clamped to int64_t; 0 for NaN
  Dim dim() const { return is_size() ? size : Dim(whole()); }
  friend bool operator==(const Number& a, const Number& b) {
    return a.is_size() == b.is_size() && (a.is_size() ? a.size == b.size : a.value == b.value);
  }
};

// A tensor of known numbers, row-major. Rank 0 has no dims and one number.
struct Known {
  std::vector<int64_t> dims;
  std::vector<Number> numbers;

  bool has_sizes() const;  // not all numbers are constants
};
int64_t count(std::span<const int64_t> dims);
int64_t product_of(int64_t a, int64_t b);  // saturates at INT64_MAX; -1 if an operand is negative

// A tensor in which each number is `first` plus its index along an axis, counted from the end.
struct Ramp {
  int axis = 0;
  Number first;
};

struct Value {
  ElementType type = ElementType::Undefined;
  const FileTensor* file = nullptr;    // an initializer, unread
  std::shared_ptr<const Known> known;  // for an initializer; set once it has been read
  Tensor tensor;                       // in the graph; set once it was needed
  bool is_scalar = false;              // a tensor [1] for a value of rank 0 in the file
  bool is_empty = false;               // without elements, such as an empty cache
  int cache = -1;                      // index of the cache of which this is the filled part; it has no tensor
  std::optional<Number> filled;        // each element is this number; the value may be empty at a run
  std::vector<Dim> dims;               // set if is_empty, cache or filled is; otherwise the tensor has the dims
  // Of a tensor of indices: its contents as one ramp, or as one ramp for each element of its last axis. Assignments to slices have such
  // indices.
  std::vector<Ramp> ramps;

  bool valid() const {
    return file != nullptr || known != nullptr || tensor.valid() || is_empty || cache >= 0 || filled;
  }
};
Value known_value(ElementType type, Known known);

// The element type on devices: I64 and I32 become I32, bool U8, double F32. Empty for other types.
std::optional<DType> device_type(ElementType type);
bool is_real(ElementType type);   // floating-point
bool is_whole(ElementType type);  // integers and bool

// Reads the numbers of an initializer; false for types that are not numeric.
bool read_numbers(const FileTensor& file, Known* known);

// --- Arithmetic on known numbers. Results are empty if they are not known: a size may or may not equal a number, for example.

std::optional<Number> compute(Graph& g, std::string_view op, ElementType type, std::span<const Number> operands);
// Converts `number` from type `from` to type `to`.
std::optional<Number> converted(const Number& number, ElementType from, ElementType to);

}  // namespace heed::onnx

// What nodes of an ONNX file give and take while a graph is made of them: tensors of the graph, and numbers that are known already, such
// as shapes, axes and tables.
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

// A number that is known: a constant, or a size of this run, as Graph computes them. Constants of all types are doubles; INT64_MAX and
// INT64_MIN, which stand for "the end", come as the nearest double.
struct Number {
  double value = 0;
  Dim size = {};  // counts if it is no constant

  Number() = default;
  Number(double constant) : value(constant) {}
  explicit Number(const Dim& dim) : value(static_cast<double>(dim.value)), size(dim) {}
  bool is_size() const { return !size.is_constant(); }
  bool is(double constant) const { return !is_size() && value == constant; }
  int64_t whole() const;  // of a constant: the nearest whole number that int64_t holds towards zero; 0 for NaN
  Dim dim() const { return is_size() ? size : Dim(whole()); }
  friend bool operator==(const Number& a, const Number& b) {
    return a.is_size() == b.is_size() && (a.is_size() ? a.size == b.size : a.value == b.value);
  }
};

// A tensor of such numbers, row-major. Rank 0 has no dims and one number.
struct Known {
  std::vector<int64_t> dims;
  std::vector<Number> numbers;

  bool has_sizes() const;  // not all are constants
};
int64_t count(std::span<const int64_t> dims);
int64_t product_of(int64_t a, int64_t b);  // INT64_MAX at most; -1 if one is negative

// Each number of a tensor is `first` plus its index along an axis, which is counted from the end.
struct Ramp {
  int axis = 0;
  Number first;
};

struct Value {
  ElementType type = ElementType::Undefined;
  const FileTensor* file = nullptr;    // an initializer as it lies in the file
  std::shared_ptr<const Known> known;  // of an initializer: once it was read
  Tensor tensor;                       // of the graph, once it was asked for
  bool is_scalar = false;              // a tensor [1] that has rank 0 in the file
  bool is_empty = false;               // no elements, as an empty cache
  int cache = -1;                      // of the importer's caches: what lies there already, which is no tensor
  std::optional<Number> filled;        // each element is this number, and a run may have none of them
  std::vector<Dim> dims;               // where is_empty, cache or filled is set; others have them in the tensor
  // Of a tensor of places: what is known of it, as one ramp; or as one for each element of its last axis. Slices that are assigned to are
  // written so.
  std::vector<Ramp> ramps;

  bool valid() const {
    return file != nullptr || known != nullptr || tensor.valid() || is_empty || cache >= 0 || filled;
  }
};
Value known_value(ElementType type, Known known);

// Of this type on devices: I64 and I32 are I32, bool is U8, double is F32. Nothing for others.
std::optional<DType> device_type(ElementType type);
bool is_real(ElementType type);   // a type of float
bool is_whole(ElementType type);  // a type of whole numbers, or bool

// The numbers of an initializer; false for types that are not numbers.
bool read_numbers(const FileTensor& file, Known* known);

// --- Arithmetic on what is known. Nothing where the result is not known, as a comparison of a size with a number that it may be.

std::optional<Number> compute(Graph& g, std::string_view op, ElementType type, std::span<const Number> operands);
// `number` of `from` as `to`.
std::optional<Number> converted(const Number& number, ElementType from, ElementType to);

}  // namespace heed::onnx

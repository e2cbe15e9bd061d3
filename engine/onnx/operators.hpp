// Helpers of the functions that import operators.
#pragma once

#include "onnx/importer.hpp"

namespace heed::onnx {

// Constant folding: computes an elementwise operator whose inputs are all known. Returns false without an effect if one is not.
bool fold(Call& call, std::string_view op, ElementType result);
// Whether all dims are constants, copied to *values, with few enough elements for constant folding.
bool is_small(std::span<const Dim> dims, std::vector<int64_t>* values);
// Broadcasts known numbers to a shape.
std::vector<Number> spread(const Known& known, std::span<const int64_t> dims);

Shape shape_of(std::span<const Dim> dims);  // [1] for rank 0
// x with these dims.
Tensor reshaped(Call& call, Tensor x, std::span<const Dim> dims);
// Calls f(x) with the axis moved to the end.
template <class F>
Tensor along(Call& call, Tensor x, int axis, const F& f) {
  const int last = call.g.shape(x).rank - 1;
  if (axis == last || call.failed()) return f(x);
  return call.g.transpose(f(call.g.transpose(x, axis, last)), axis, last);
}
// A constant of x's type, as an operand.
Tensor number_like(Graph& g, double value, Tensor x);
// Casts a tensor; a bool is a U8 of 0 or 1.
Tensor cast_to(Call& call, Tensor x, ElementType from, ElementType to);

// The parts of the operator table; operators.cpp joins them.
std::span<const Operator> element_operators();
std::span<const Operator> shape_operators();
std::span<const Operator> slice_operators();
std::span<const Operator> made_operators();
std::span<const Operator> place_operators();
std::span<const Operator> product_operators();
std::span<const Operator> row_operators();
std::span<const Operator> reduce_operators();
std::span<const Operator> window_operators();
std::span<const Operator> attention_operators();
std::span<const Operator> control_operators();
std::span<const Operator> loss_operators();

}  // namespace heed::onnx

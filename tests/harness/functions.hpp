// The elementwise functions of Graph, each with its value in double: the table that tests of every device, of gradients and of
// graphs drawn at random read.
#pragma once

#include <span>

#include "harness/reference.hpp"

namespace heed::ops {

struct FunctionReference {
  const char* name;
  int operands;
  Tensor (*build)(Graph& g, Tensor a, Tensor b);  // those of one operand leave b out
  double (*value)(double a, double b);
  double low, high;      // operands are drawn between
  double roundings = 8;  // of f32, of the result and of terms that are as large as `terms`
  double terms = 0;
  bool smooth = true;  // has a gradient that differences find where operands are drawn
};
std::span<const FunctionReference> function_references();

// The function on arrays, with the bounds of its operands and of `slope`, the largest that it has where operands are drawn.
Array apply(const FunctionReference& function, const Array& a, const Array& b, double slope = 4.0);

}  // namespace heed::ops

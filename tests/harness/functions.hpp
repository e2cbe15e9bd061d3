// The elementwise functions of Graph, each with its value in double. Tests of every device, of gradients and of random graphs read this
// table.
#pragma once

#include <span>

#include "harness/reference.hpp"

namespace heed::ops {

struct FunctionReference {
  const char* name;
  int operands;
  Tensor (*build)(Graph& g, Tensor a, Tensor b);  // functions of one operand ignore b
  double (*value)(double a, double b);
  double low, high;      // the range of random operands
  double roundings = 8;  // error in units of f32, relative to the result and to summands as large as `terms`
  double terms = 0;
  bool smooth = true;  // differences find its gradient everywhere in that range
};
std::span<const FunctionReference> function_references();

// The function on arrays, with the bounds of its operands. `slope` is the largest slope in the range of operands.
Array apply(const FunctionReference& function, const Array& a, const Array& b, double slope = 4.0);

}  // namespace heed::ops

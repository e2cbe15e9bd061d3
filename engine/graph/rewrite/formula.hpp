// Helpers of the rewrites that recognize an operation in the functions and reductions that compose it.
#pragma once

#include <optional>

#include "graph/build/build.hpp"
#include "graph/rewrite/rewrites.hpp"

namespace heed::detail {

// The value of a function of one or two numbers. None for functions that are not analytic, or that occur in no recognized operation.
std::optional<double> function_at(Function function, double a, double b);

// The node whose whole result the tensor shows, possibly reshaped. Null if there is none: the tensor shows a part of a result or another
// order of axes, or no node makes it.
const Node* maker_of(const GraphData& graph, Build& build, const Dataflow& flow, Tensor tensor);

}  // namespace heed::detail

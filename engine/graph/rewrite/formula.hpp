// Rewrites that recognize an operation in the functions and reductions that spell it out share these.
#pragma once

#include <optional>

#include "graph/build/build.hpp"
#include "graph/rewrite/rewrites.hpp"

namespace heed::detail {

// The value of a function of one number or two. None for functions that are not analytic, or that no recognized operation is made of.
std::optional<double> function_at(Function function, double a, double b);

// The node whose whole result a tensor is, perhaps as a reshaped view. Null if there is none: the tensor shows a part of a result, shows
// it in another order, or no node makes it.
const Node* maker_of(const GraphData& graph, Build& build, const Dataflow& flow, Tensor tensor);

}  // namespace heed::detail

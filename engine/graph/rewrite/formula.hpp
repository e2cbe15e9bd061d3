// What rewrites share that look for an operation in the functions and reductions that spell it out.
#pragma once

#include <optional>

#include "graph/build/build.hpp"
#include "graph/rewrite/rewrites.hpp"

namespace heed::detail {

// A function at a number, or at two. None for functions that are not analytic, or that no recognized operation is made of.
std::optional<double> function_at(Function function, double a, double b);

// The node that makes all of a tensor, which is or sees its result without gaps, in order and from its start; or null.
const Node* maker_of(const GraphData& graph, Build& build, const Dataflow& flow, Tensor tensor);

}  // namespace heed::detail

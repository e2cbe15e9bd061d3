// Views of copies as views of the copied tensor: a node that reads a copy can then read its source, and the copy is removed.
#pragma once

#include <optional>
#include <span>

#include "graph/rewrite/formula.hpp"

namespace heed::detail {

// An axis along which neighbouring elements have stride `from` in one tensor and `to` in another.
struct SharedAxis {
  SizeId size = 0, from = 0, to = 0;
};

// Converts a view's strides from one tensor to the other; false if no strides express it. Axes are ordered from the outermost. The offset
// is unchanged.
bool move_view(SizeTable& sizes, std::span<const SharedAxis> axes, TensorInfo* view);

// Turns a view that broadcasts to `shape`, [.., m, n], into one of [batch, heads, m, n], where batch * heads is the product of all dims
// before m. Broadcast dims become 1. False if no strides express it.
bool regroup(SizeTable& sizes, const TensorInfo& shape, SizeId batch, SizeId heads, TensorInfo* view);

// The factor by which a node multiplies its only input, 1 for a copy; none for other nodes.
std::optional<float> factor_of(const Node& node);

// If *view shows the result of nodes that copy or scale, turns it into a view of their input, as far as strides can express it. *factor is
// multiplied by their scales; if it is null, nodes that scale are not passed. `reader` is the node that reads the view: no node before it
// may change the input.
void see_through(const GraphData& graph, Build& build, const Dataflow& flow, size_t reader, TensorInfo* view,
                 float* factor);

}  // namespace heed::detail

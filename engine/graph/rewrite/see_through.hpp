// Views of copies as views of what was copied: who reads a copy may then read its source, and the copy is left out.
#pragma once

#include <optional>
#include <span>

#include "graph/rewrite/formula.hpp"

namespace heed::detail {

// An axis along which the same elements lie `from` apart in one tensor, and `to` apart in another.
struct SharedAxis {
  SizeId size = 0, from = 0, to = 0;
};

// Strides in the other tensor of a view of the one; false if it has none. Axes come from the outermost. The offset stays.
bool move_view(SizeTable& sizes, std::span<const SharedAxis> axes, TensorInfo* view);

// Turns a view that broadcasts to `shape`, [.., m, n], into one of [batch, heads, m, n], where batch * heads are all dims before m. Dims
// along which it is broadcast become 1. False if no strides do that.
bool regroup(SizeTable& sizes, const TensorInfo& shape, SizeId batch, SizeId heads, TensorInfo* view);

// The factor of a node that multiplies its only input by a number, or copies it; or none.
std::optional<float> factor_of(const Node& node);

// Where *view shows the result of nodes that copy or scale, turns it into a view of their input, as far as strides allow. *factor is
// multiplied by their scales; null: none may scale. Node `reader` reads the view: no node before it changes the input.
void see_through(const GraphData& graph, Build& build, const Dataflow& flow, size_t reader, TensorInfo* view,
                 float* factor);

}  // namespace heed::detail

// Positions given by tensors, for graph calls that write or read rows at them.
#pragma once

#include "graph/build/build.hpp"

namespace heed::detail {

inline constexpr const char* kPlacesLabel = ".places";

// The positions of rows along an axis, I32 that broadcasts to the first axis + 1 dims of `rows`. They are `given`, or, if that is [B] and
// the axis is not 0, given[b] and the consecutive ones. Records a mistake and returns an invalid tensor if neither fits.
Tensor places_of(Build& build, Tensor given, const TensorInfo& rows, int axis);

}  // namespace heed::detail
